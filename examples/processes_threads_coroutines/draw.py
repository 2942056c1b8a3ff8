"""Draws the throughput of several modes over the number of tasks, as an SVG that needs nothing else."""

from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 300, 50, 120, 30, 40
COLOURS = {"sequential": "#777777", "threads": "#1f6fb2", "processes": "#b2521f", "interpreters": "#7a3fb2", "asyncio": "#2a8f4a"}


def svg(title, points):
    """Return the picture: the speedup of each (mode, workers, speedup) over the sequence."""
    most_workers = max(workers for _, workers, _ in points)
    most = max(2.0, max(speedup for _, _, speedup in points) * 1.1)

    def x(workers):
        return LEFT + (WIDTH - LEFT - RIGHT) * (workers - 1) / max(1, most_workers - 1)

    def y(speedup):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * speedup / most

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{LEFT} {TOP}V{y(0):.0f}H{x(most_workers):.0f}" fill="none" stroke="black"/>',
        f'<text x="{x(most_workers) / 2:.0f}" y="{HEIGHT - 8}">tasks at once</text>',
        f'<text transform="translate(14 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">times the sequence</text>',
    ]
    for tick in range(0, int(most) + 1, max(1, int(most) // 5)):
        parts.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.0f}" text-anchor="end">{tick}</text>')
    for workers in sorted({workers for _, workers, _ in points}):
        parts.append(f'<text x="{x(workers):.0f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{workers}</text>')
    for number, mode in enumerate(dict.fromkeys(mode for mode, _, _ in points)):
        of_mode = sorted((workers, speedup) for other, workers, speedup in points if other == mode)
        line = " ".join(f"{x(workers):.1f},{y(speedup):.1f}" for workers, speedup in of_mode)
        colour = COLOURS.get(mode, "black")
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(workers):.1f}" cy="{y(speedup):.1f}" r="3" fill="{colour}"/>' for workers, speedup in of_mode]
        parts.append(f'<text x="{WIDTH - RIGHT + 14}" y="{TOP + 16 * (number + 1)}" fill="{colour}">{escape(mode)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
