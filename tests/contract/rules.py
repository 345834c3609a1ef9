#!/usr/bin/env python3
"""rules.py [BUILD | --update]: a rule of the ledger cannot change without a new date. report/claims/dates.c lists
for each claim the date on which its rule got its present form, and a hash of the rule. The hash covers the
text of the rule (.rule) and the thresholds: every named constant, and every number but 0, 1 and 2, that the
judge uses, in all functions of report/claims that it calls; what is only said as evidence does not count.
An entry's date (.since), where it has one, is that of the list. In git's history of the list, a hash changes
only together with a date of that day. Of a rule that changed when figures of that day were known, the date has
the time, too: "2026-11-22T12:20Z".

--update writes the list anew: a changed rule needs a .since that is newer than the listed date."""
import datetime
import glob
import hashlib
import json
import os
import re
import subprocess
import sys

from common import ROOT, check, finish, read_text, skip, table, write_text

LIST = "report/claims/dates.c"
LINE = re.compile(r'\{"(C\w+)", "(\d{4}-\d\d-\d\d(?:T\d\d:\d\dZ)?)", "([0-9a-f]{12})"\}')
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|[A-Za-z_]\w*|\.?\d(?:[eEpP][-+]|[\w.])*|\s+|.', re.S)
DECIDES = ("rule_faster", "rule_place", "rule_band", "rule_ratio", "rule_quotient", "rule_rate")  # of rules.c
SAYS = re.compile(r"rule_say\w*|rule_not_testable|snprintf|fprintf")  # what they are given decides nothing
PLAIN = {0.0, 1.0, 2.0}
# What is said of a claim that holds in part.
PARTLY = re.compile(r"\bholds?\b.*\b(does|do) not\b|\b(does|do) not\b.*\bholds?\b|between", re.I | re.S)


# --- C, as far as it is needed ----------------------------------------------------------------------------

def tokens(text):
    """Without comments, white space and #include; a #define ends with the token '\\n'."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S).replace("\\\n", " ")
    out = []
    for line in text.split("\n"):
        if line.startswith(("#include", "#if", "#endif", "#else")) or re.match(r"#define \w+\(", line):
            continue
        out += [t for t in TOKEN.findall(line) if not t.isspace()]
        if line.startswith("#"):
            out.append("\n")
    return out


def closing(t, i):
    """The place of the bracket that closes the one at i."""
    depth = 0
    for k in range(i, len(t)):
        depth += (t[k] in "([{" and len(t[k]) == 1) - (t[k] in ")]}" and len(t[k]) == 1)
        if depth == 0:
            return k
    sys.exit(f"rules.py: a bracket is not closed: {' '.join(t[i:i + 8])}")


def is_name(token):
    return re.fullmatch(r"[A-Za-z_]\w*", token) is not None


def value_end(t, i):
    """Where the value that begins at i ends: at a comma or the end of what holds it."""
    while i < len(t) and t[i] not in (",", ";", "}", "\n"):
        i = closing(t, i) + 1 if t[i] in "([{" else i + 1
    return i


def declarations(t):
    """(functions: name -> tokens of the body, constants: name -> tokens of the value, names that are static)"""
    functions, constants, static, i = {}, {}, set(), 0
    begin_of = 0  # of the declaration that i is in
    while i < len(t):
        if t[i] == "#" and t[i + 1:i + 2] == ["define"]:
            end = t.index("\n", i)
            if all(number(x) is not None or x in "+-*/().<" or is_name(x) for x in t[i + 3:end]):
                constants[t[i + 2]] = t[i + 3:end]
            i = end
        elif t[i:i + 2] == ["static", "const"] and t[i + 2:i + 3] in (["double"], ["int"], ["size_t"]):
            i += 3
            while t[i] != ";":
                name = t[i]
                while t[i] != "=":
                    i += 1
                end = value_end(t, i + 1)
                constants[name] = t[i + 1:end]
                i = end + (t[end] == ",")
        elif t[i:i + 3] == ["static", "const", "struct"] and t[i + 3] not in ("need", "claim"):
            k = i + 3 + is_name(t[i + 3])
            k = closing(t, k) + 1 if t[k] == "{" else k
            name, k = t[k], k + 1
            k = closing(t, k) + 1 if t[k] == "[" else k
            if t[k] == "=":  # a table: its numbers count, not the text that it holds
                end = value_end(t, k + 1)
                constants[name] = [x for x in t[k + 1:end] if re.match(r"\.?\d", x) and number(x) not in PLAIN]
                i = end
        elif t[i] == "enum" and "{" in t[i:i + 3]:
            i = t.index("{", i) + 1
            while t[i] != "}":
                end = value_end(t, i)
                if "=" in t[i:end]:
                    constants[t[i]] = t[i + 2:end]
                i = end + (t[end] == ",")
        elif t[i] == "(" and is_name(t[i - 1]) and t[closing(t, i) + 1:closing(t, i) + 2] == ["{"]:
            begin = closing(t, i) + 1
            functions[t[i - 1]] = t[begin:closing(t, begin)]
            if "static" in t[begin_of:i]:
                static.add(t[i - 1])
            i = closing(t, begin)
        elif t[i] in "([{" and len(t[i]) == 1:
            i = closing(t, i)
        if i < len(t) and t[i] in (";", "}", "\n"):
            begin_of = i + 1
        i += 1
    return functions, constants, static


def texts(t):
    """{name: tokens} of #defines that are text."""
    found = {}
    for i, token in enumerate(t):
        if token == "#" and t[i + 1:i + 2] == ["define"]:
            value = t[i + 3:t.index("\n", i)]
            if value and all(v.startswith('"') or is_name(v) for v in value):
                found[t[i + 2]] = value
    return found


def spelt_out(value, known):
    return [token for v in value for token in (spelt_out(known[v], known) if v in known else [v])]


def entries(t):
    """{id: {field: tokens}} of all entries that begin with .id."""
    found, known = {}, texts(t)
    for i, token in enumerate(t):
        if token != "{" or t[i + 1:i + 4] != [".", "id", "="] or not t[i + 4].startswith('"'):
            continue
        fields, k, end = {}, i + 1, closing(t, i)
        while k < end:
            stop = value_end(t, k + 3)
            fields[t[k + 1]] = spelt_out(t[k + 3:stop], known)
            k = stop + 1
        found[text_of(fields["id"])] = fields
    return found


def text_of(values):
    return "".join(json.loads(v) for v in values if v.startswith('"'))


# --- rules --------------------------------------------------------------------------------------------------

def only_decides(body):
    """The body without what is only said, and without the sizes of arrays."""
    out, i = [], 0
    while i < len(body):
        if SAYS.fullmatch(body[i]) and body[i + 1:i + 2] == ["("]:
            i = closing(body, i + 1)
        elif body[i] == "[":
            i = closing(body, i)
        else:
            out.append(body[i])
        i += 1
    return out


def number(token):
    try:
        return float(token.rstrip("fFuUlL")) if not token.lower().startswith("0x") else float.fromhex(token)
    except ValueError:
        return None


def rules(sources):
    """{id: (date or None, hash)} of all claims that have a judge."""
    functions, constants, static, found = {}, {}, set(), {}
    for path, text in sorted(sources.items()):
        t = tokens(text)
        own, values, hidden = declarations(t)
        static.update((path, name) for name in [*hidden, *values] if path.endswith(".c"))
        for name, body in own.items():
            functions[path, name] = body
        constants.update({(path, name): value for name, value in values.items()})
        found.update({(path, name): fields for name, fields in entries(t).items()})

    def get(table, path, name):
        """Of the file itself, or of the one other that lets others see it."""
        others = [key for key in table if key[1] == name and key not in static]
        return (path, name) if (path, name) in table else others[0] if len(others) == 1 else None

    def walk(path, body, thresholds, seen, in_constant=False):
        for token in only_decides(body):
            if re.match(r"\.?\d", token) and number(token) not in PLAIN and not in_constant:
                thresholds.append(token)
            for table in (constants, functions):
                key = get(table, path, token) if is_name(token) else None
                if not key or key in seen or (key[0] == "rules.c" and token not in DECIDES):
                    continue
                seen.add(key)
                if table is constants:
                    thresholds.append(token + "=" + "".join(constants[key]))
                walk(key[0], table[key], thresholds, seen, table is constants)

    result = {}
    for (path, name), fields in found.items():
        if "judge" not in fields or fields["judge"] == ["NULL"]:
            continue
        thresholds, rule = [], text_of(fields["rule"])
        walk(path, [fields["judge"][0]], thresholds, set())
        since = text_of(fields["since"]) if "since" in fields else None
        whole = json.dumps([rule, sorted(thresholds)], ensure_ascii=False)
        result[name] = (since, hashlib.sha256(whole.encode()).hexdigest()[:12], thresholds)
    return result


def read_sources():
    return {os.path.basename(path): read_text(path) for path in glob.glob(os.path.join(ROOT, "report/claims/*.[ch]"))}


def read_list(text):
    return {m[1]: (m[2], m[3]) for m in LINE.finditer(text)}


def line(name, date, hashed):
    return f'    {{"{name}", "{date}", "{hashed}"}},'


# --- the checks ---------------------------------------------------------------------------------------------

def check_list(now, listed):
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    for name, (since, hashed, _) in sorted(now.items()):
        date, known = listed.get(name, ("", ""))
        newer = since if since and since > date else today
        if name not in listed:
            check(False, name, f"not in {LIST}; put in:\n{line(name, since or today, hashed)}")
        elif hashed != known:
            check(False, name, f"its rule or a threshold is not what it was on {date}; give the entry "
                  f'.since = "{newer}", and put into {LIST}:\n{line(name, newer, hashed)}')
        else:
            check(since in (None, date), name, f".since is {since}, and {LIST} says {date}; put in:\n"
                  f"{line(name, since, hashed)}")
    surplus = sorted(set(listed) - set(now))
    check(not surplus, f"{LIST} lists claims that exist", " ".join(surplus))


def check_history():
    """A hash that changed did so on the day that the list gives, give or take the time zone."""
    git = ["git", "-C", ROOT, "log", "--format=commit %cs", "-p", "--unified=0", "--", LIST]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        return False
    day, gone = None, {}
    for text in done.stdout.splitlines():
        if text.startswith("commit "):
            day, gone = text.split()[1], {}
        for m in LINE.finditer(text):
            if text.startswith("-"):
                gone[m[1]] = m[3]
            if not text.startswith("+") or gone.get(m[1], m[3]) == m[3]:
                continue
            apart = datetime.date.fromisoformat(day) - datetime.date.fromisoformat(m[2][:10])
            check(abs(apart.days) <= 1, m[1], f"its rule changed in a commit of {day}, and has the date {m[2]}")
    return True


def check_planted(sources, now):
    """A text, a constant, or a number in the judge: each changes the hash, and the hash of no other file."""
    path, name = "sizes.c", "C26"
    text = sources.get(path, "")
    own = [n for n in now if f'.id = "{n}"' in text]
    if name not in own:
        name = own[0]
    constants = [t for t in now[name][2] if "=" in t]
    plants = [(r'(\.id = "%s".*?\.rule =\s*")' % name, r"\1Never. "),
              (r"(\b%s\s*=\s*)" % re.escape(constants[0].split("=")[0]), r"\g<1>17 * ")]
    for pattern, by in plants:
        planted, n = re.subn(pattern, by, text, count=1, flags=re.S)
        after = rules(dict(sources, **{path: planted}))
        check(n == 1 and after[name][1] != now[name][1], f"a planted change of {name} is seen", pattern)
        check(all(after[n][1] == now[n][1] for n in now if n not in own), "and no other file's")
    judge = "static void judge_x(struct finding *f)\n{\n    if (%s)\n        rule_say(f->e, \"%%d\", %s);\n}\n" \
            "static const struct claim claims[] = {{.id = \"C0\", .rule = \"R\", .judge = judge_x}};\n"
    hashes = [rules({"x.c": judge % pair})["C0"][1] for pair in (("a > 0.5", "7"), ("a > 0.6", "7"), ("a > 0.5", "8"))]
    check(hashes[0] != hashes[1], "a number in a judge counts")
    check(hashes[0] == hashes[2], "a number that is said does not")


def update(now, listed):
    day = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%d")

    def is_dated(name, since, hashed):
        """A rule that changes for the second time on one day keeps its date."""
        date, known = listed.get(name, ("", ""))
        return hashed == known or (since is not None and (since > date or since == date >= day))

    bad = [name for name, (since, hashed, _) in now.items() if not is_dated(name, since, hashed)]
    for name in sorted(bad):
        print(f"{name}: its rule is new or changed; give it a .since that is newer than "
              f"{listed.get(name, ('nothing',))[0]}")
    if bad:
        return 1
    lines = [line(name, since or listed[name][0], hashed) for name, (since, hashed, _) in sorted(now.items())]
    text = re.sub(r"(\n} dates\[\] = \{\n).*?(\n\};)", lambda m: m[1] + "\n".join(lines) + m[2],
                  read_text(ROOT, LIST), flags=re.S)
    write_text(os.path.join(ROOT, LIST), text)
    return 0


def main():
    sources = read_sources()
    now, listed = rules(sources), read_list(sources.pop("dates.c", ""))
    if sys.argv[1:] == ["--update"]:
        return update(now, listed)
    check(len(now) > 50, "the entries are found", f"{len(now)}")
    check_list(now, listed)
    if not check_history():
        skip("the history of the list", "no git here, or it is not committed yet")
    check_planted(sources, now)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
