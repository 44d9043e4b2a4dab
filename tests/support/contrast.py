"""The contrast of texts on a page, as WCAG 2 computes it."""

from __future__ import annotations

from playwright.sync_api import Page


def least_contrast(page: Page, root: str) -> float:
    """Return the smallest contrast of a text below `root`, a CSS selector, with its background."""
    ratio: float = page.evaluate(_LEAST, root)
    return ratio


_LEAST = """(root) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const linear = (part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const behind = (element) => {
        if (element === null) return [255, 255, 255];
        const [r, g, b, alpha] = rgba(getComputedStyle(element).backgroundColor);
        if (alpha === 255) return [r, g, b];
        const under = behind(element.parentElement);
        return [r, g, b].map((part, i) => (part * alpha + under[i] * (255 - alpha)) / 255);
    };
    let least = 21;
    for (const element of document.querySelectorAll(`${root}, ${root} *`)) {
        const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        if (!texts.some((text) => text.textContent.trim())) continue;
        if (element.offsetParent === null) continue;
        const pair = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
        const [dark, bright] = pair.sort((a, b) => a - b);
        least = Math.min(least, (bright + 0.05) / (dark + 0.05));
    }
    return least;
}"""
