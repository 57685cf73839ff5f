"""Creates HTML and SVG elements with ElementTree, which escapes text and closes tags."""

from xml.etree import ElementTree as ET

from exporter.runtime.printable import printable


def element(tag: str, *inside: ET.Element | str, **attributes: str | float) -> ET.Element:
    """Returns an element with the given content and attributes.

    Control characters in texts are written as escapes.

    inside: the child elements and texts, in order.
    attributes: the values, keyed by name. In a name, a trailing underscore is removed and other
        underscores become hyphens: ``class_`` is class, ``text_anchor`` is text-anchor.
    """
    node = ET.Element(tag, {_name(key): _value(value) for key, value in attributes.items()})
    for child in inside:
        if isinstance(child, ET.Element):
            node.append(child)
        elif len(node):
            node[-1].tail = (node[-1].tail or "") + printable(child)
        else:
            node.text = (node.text or "") + printable(child)
    return node


def text(node: ET.Element) -> str:
    """Returns the element as text. Every element has an end tag, so it is valid HTML and XML."""
    return ET.tostring(node, encoding="unicode", short_empty_elements=False)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return printable(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
