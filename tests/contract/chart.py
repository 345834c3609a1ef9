#!/usr/bin/env python3
"""chart.py BUILD: the figures of BUILD/tests/charts, a page with each kind on invented data. An XML
parser reads each one; a page asks for nothing outside itself; a standalone figure has its colours in
it. Each rule is also tried on a planted fault."""
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from common import BUILD, check, check_none, finish

CHARTS = BUILD + "/tests/charts"
SMALLEST = 12  # of a text, in units: a figure is shown at about its own size


def said(*arguments):
    return subprocess.run([CHARTS, *arguments], check=True, capture_output=True, text=True).stdout


def tag(element):
    return element.tag.split("}")[-1]


def no_xml(text):
    try:
        ET.fromstring(text)
        return []
    except ET.ParseError as why:
        return [f"{why}: {text[:80]}"]


def small_texts(text):
    return [f"{each.get('font-size')}: {each.text}" for each in ET.fromstring(text).iter()
            if tag(each) == "text" and float(each.get("font-size", SMALLEST)) < SMALLEST]


def mute_links(text):
    """Links of marks that no tooltip explains."""
    return [ET.tostring(each, "unicode")[:90] for each in ET.fromstring(text).iter("a")
            if each.find(".//title") is None and each.find("text") is None]


def dependent(text):
    """What a file of its own cannot have: classes of a page's sheet, links into a page."""
    found = [f"{tag(each)}: {name}" for each in ET.fromstring(text).iter() for name in each.attrib
             if name in ("class", "href")]
    return found + re.findall(r"var\(.{20}|currentColor", text)


def outside(page):
    return re.findall(r".{20}(?:https?:|//[a-z]|url\(|@import|<script).{20}", page)


page = said()
figures = re.findall(r"<svg.*?</svg>", page, re.S)
names = re.findall(r"<h2>(\w+)</h2>", page)
check(len(figures) == 2 * len(names) > 20,
      "each figure is there twice", f"{len(figures)} figures of {len(names)} names")
check_none([why for each in figures for why in no_xml(each)], "each figure of the page is XML")
check_none([why for each in figures for why in small_texts(each)], "no text is small")
check_none([why for each in figures for why in mute_links(each)], "marks that link have a tooltip")
check_none(outside(page), "the page asks for nothing outside")
for name in names:
    alone = said(name)
    check_none(no_xml(alone), f"{name} alone is XML")
    check_none(dependent(alone), f"{name} alone needs no page")
    check(said(name) == alone, f"{name} is the same twice", "it differs")

planted = '<svg class="x"><text font-size="11">a</text><a href="#b"><circle/></a></svg>'
check_none([rule.__name__ for rule, text in (
    (no_xml, planted[:-3]), (small_texts, planted), (mute_links, planted), (dependent, planted),
    (outside, 20 * " " + 'src="https://example.org/x.js">' + 20 * " ")) if not rule(text)], "planted faults are seen")
sys.exit(finish())
