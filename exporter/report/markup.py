"""Elements of HTML and SVG: escaped and closed by the library, not by care."""

from xml.etree import ElementTree as ET

from exporter.report.formatting import printable


def element(tag: str, *inside: ET.Element | str, **attributes: str | float) -> ET.Element:
    """An element with text and elements in it. ``class_`` is class, ``text_anchor`` text-anchor.

    Characters that no document may hold are shown as escapes.
    """
    node = ET.Element(tag, {_name(key): _value(value) for key, value in attributes.items()})
    for each in inside:
        if isinstance(each, ET.Element):
            node.append(each)
        elif len(node):
            node[-1].tail = (node[-1].tail or "") + printable(each)
        else:
            node.text = (node.text or "") + printable(each)
    return node


def text(node: ET.Element) -> str:
    """Both HTML and XML: every element has an end tag."""
    return ET.tostring(node, encoding="unicode", short_empty_elements=False)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return printable(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
