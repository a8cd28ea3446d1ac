"""Markdown tables whose source reads as well as they do."""


def table(header: list[str], lines: list[list[str]]) -> str:
    widths = [max(len(line[index]) for line in [header, *lines]) for index in range(len(header))]

    def text(cells: list[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = f"| {' | '.join('-' * width for width in widths)} |"
    return "\n".join([text(header), rule, *map(text, lines)])
