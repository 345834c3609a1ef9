#!/usr/bin/env python3
"""chart.py BUILD: the figures of BUILD/tests/charts, a page with each kind on invented data. An XML
parser reads each one; a page asks for nothing outside itself; a standalone figure has its colours in
it. Each rule is also tried on a planted fault."""
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

passed = failed = 0
CHARTS = sys.argv[1] + "/tests/charts"
SMALLEST = 12  # of a text, in units: a figure is shown at about its own size


def check(name, found):
    global passed, failed
    if not found:
        passed += 1
        return
    failed += 1
    print("FAIL", name)
    for line in found[:12]:
        print("    " + line)


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
check("each figure is there twice", [] if len(figures) == 2 * len(names) > 20 else
      [f"{len(figures)} figures of {len(names)} names"])
check("each figure of the page is XML", [why for each in figures for why in no_xml(each)])
check("no text is small", [why for each in figures for why in small_texts(each)])
check("marks that link have a tooltip", [why for each in figures for why in mute_links(each)])
check("the page asks for nothing outside", outside(page))
for name in names:
    alone = said(name)
    check(f"{name} alone is XML", no_xml(alone))
    check(f"{name} alone needs no page", dependent(alone))
    check(f"{name} is the same twice", [] if said(name) == alone else ["it differs"])

planted = '<svg class="x"><text font-size="11">a</text><a href="#b"><circle/></a></svg>'
check("planted faults are seen", [rule.__name__ for rule, text in (
    (no_xml, planted[:-3]), (small_texts, planted), (mute_links, planted), (dependent, planted),
    (outside, 20 * " " + 'src="https://example.org/x.js">' + 20 * " ")) if not rule(text)])
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
