"""Real outputs of smartctl, beside the checkout, against what their drives' documents say."""
