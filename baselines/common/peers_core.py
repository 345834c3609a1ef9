"""Does for a probe in Python what core/ does for a probe in C: command line, cases, the sample
loop, the figures from samples, the run document. Standard library only. The rules are those of
core/probe.h and core/samples.c, number for number. tests/contract/peers.py feeds the raw samples of
probes in C to both and compares every figure.

A probe makes a Run, asks `if run.case(...)`, loops `while run.more()`, and hands over samples."""
import argparse
import fnmatch
import json
import math
import platform
import re
import sys
import time

OK, FAILED, USAGE, SKIPPED = 0, 1, 2, 77

WARM_PASSES, PASSES_MIN, PASSES_MAX, FIRST_LOOK = 2, 5, 1000, 20
CASE_S, QUICK_S, SETTLE_S = 0.032, 0.008, 0.050
STABLE, CONFIDENCE, BEST_OF_FIRST = 0.002, 0.95, 20
HELD_BACK, FALLS = 0.85, 0.03  # of the clock of small work; of the loop's own
FIGURE_DIGITS, SPREAD_DIGITS, CLOCK_DIGITS = 7, 3, 6


class Metric:
    """One row of the metric table, as struct probe_metric."""

    def __init__(self, name, unit, better, form, timer, keys, what):
        self.name, self.unit, self.better, self.form = name, unit, better, form
        self.timer, self.keys, self.what = timer, keys, what


class Leave(Exception):
    """Ends the run: (exit status, reason)."""


# --- statistics (core/stat.c) ---------------------------------------------------------------------

def median(ordered):
    n = len(ordered)
    if n == 0:
        return math.nan
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


def quantile(ordered, q):
    """Linear between order statistics (type 7)."""
    if not ordered:
        return math.nan
    place = q * (len(ordered) - 1)
    below = int(place)
    if below + 1 >= len(ordered):
        return ordered[-1]
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def tail(ordered, q):
    """A percentile is stated only where at least five samples lie in its tail."""
    share = q if q < 0.5 else 1 - q
    return quantile(ordered, q) if len(ordered) * share >= 5 - 1e-9 else math.nan


def summarise(values):
    ordered = sorted(values)
    middle = median(ordered)
    return {"n": len(ordered), "median": middle, "min": ordered[0] if ordered else math.nan,
            "max": ordered[-1] if ordered else math.nan, "q1": quantile(ordered, 0.25),
            "q3": quantile(ordered, 0.75), "mad": median(sorted(abs(v - middle) for v in ordered)),
            "p01": tail(ordered, 0.01), "p99": tail(ordered, 0.99), "p999": tail(ordered, 0.999)}


def median_ranks(n, confidence):
    """Ranks from 1 of the order statistics that bracket the median, or None: the largest r with
    1 - 2 P(B < r) >= confidence for n fair coins."""
    below, rank = 0, 0
    for i in range(n // 2):
        below += math.comb(n, i)
        if 1 - 2 * below / 2 ** n < confidence:
            break
        rank = i + 1
    return (rank, n + 1 - rank) if rank else None


def narrow(values, tick):
    """Is the median's interval within 0.2 % of it, or within one tick?"""
    ranks = median_ranks(len(values), CONFIDENCE)
    if ranks is None:
        return False
    ordered = sorted(values)
    half = (ordered[ranks[1] - 1] - ordered[ranks[0] - 1]) / 2
    return half <= STABLE * abs(median(ordered)) or half <= tick / 2


# --- from samples to figures (core/samples.c) -----------------------------------------------------

def number(value):
    return int(value) if abs(value) < 1e12 and value == math.floor(value) else value


def rounded(value, digits):
    """No digits that nothing can tell apart."""
    return number(float("%.*g" % (digits, value)))


def figure(value):
    """What is whole keeps all of its digits."""
    return rounded(value, FIGURE_DIGITS) if isinstance(number(value), float) else number(value)


def sides_of(samples):
    """A slope's (work, value) samples by their two amounts of work, the smaller first."""
    sides = {}
    for work, value in samples:
        sides.setdefault(work, []).append(value)
    if len(sides) != 2:
        raise Leave(FAILED, "harness: a slope needs samples at exactly two amounts of work")
    return sorted(sides.items())


def figures_of_slope(samples, tick):
    """Slope from the medians, best from the least of each side; spreads are kept by side."""
    (low_work, low), (high_work, high) = sides_of(samples)
    between, s, t = high_work - low_work, summarise(low), summarise(high)
    least = [min(side[:BEST_OF_FIRST]) for side in (low, high)]
    middle, best = (t["median"] - s["median"]) / between, (least[1] - least[0]) / between
    if middle < 0:  # is no time
        middle = best = math.nan
    return {"n": len(high), "median": middle,
            "best": best if best >= 0 else math.nan, "mad": (s["mad"] + t["mad"]) / between,
            "resolution": tick / between,
            "sides": [{"work": figure(w), "n": side["n"], "median": figure(side["median"]),
                       "mad": rounded(side["mad"], SPREAD_DIGITS)}
                      for w, side in ((low_work, s), (high_work, t))]}


def figures_of_each(samples, tick, higher=False):
    per_unit = [value / work for work, value in samples]
    figures = summarise(per_unit)
    figures["best"] = (max if higher else min)(per_unit[:BEST_OF_FIRST])
    figures["resolution"] = tick / max(work for work, _ in samples)
    return figures


def figures_of(metric, samples, tick):
    """The fields of a metric object, without those that are not finite, except for the two
    centres."""
    if metric.form == "slope":
        figures = figures_of_slope(samples, tick)
    else:
        figures = figures_of_each(samples, tick, metric.better == "higher")
    kept = {}
    for key in ("n", "median", "best", "min", "max", "q1", "q3", "mad", "p01", "p99", "p999"):
        value = figures.get(key, math.nan)
        if math.isfinite(value):
            kept[key] = rounded(value, SPREAD_DIGITS) if key == "mad" else figure(value)
        elif key in ("median", "best"):
            kept[key] = None
    if kept["median"] is None and metric.form == "slope":
        kept["why"] = "more work took less time: something else had the machine"
    if figures["resolution"] > 0:
        kept["resolution"] = figure(figures["resolution"])
    if "sides" in figures:
        kept["sides"] = figures["sides"]
    return kept


def without_glitches(mhz):
    """Each reading of the clock becomes the median of itself and its neighbours. A single odd
    reading is the timer's fault, because a clock that moves stays where it went."""
    if len(mhz) < 3:
        return list(mhz)
    middle = [sorted(mhz[i - 1:i + 2])[1] for i in range(1, len(mhz) - 1)]
    return [middle[0]] + middle + [middle[-1]]


# --- the command line (core/options.c) ------------------------------------------------------------

def whole(least, most):
    def read(text):
        value = int(text) if text.strip("-").isdigit() else None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number from {least}")
        return value
    return read


def no_parameter(text):
    raise argparse.ArgumentTypeError(f"{text}: there is no such parameter (see --list)")


def options_of(probe, words):
    """Exits with 2 on a bad line, with 0 after --help and --version."""
    parser = argparse.ArgumentParser(
        prog=probe["name"], description=f"{probe['name']}: {probe['what']}",
        epilog="Exit: 0 measured, 1 a check or call failed, 2 usage, 77 cannot be measured here.")
    add = parser.add_argument
    add("--version", action="version", version=f"{probe['name']}, method {probe['method']}")
    add("-d", "--device", type=whole(0, 255), default=0, metavar="N", help="GPU to measure")
    add("-s", "--set", type=no_parameter, metavar="NAME=VALUE", help="(it has no parameters)")
    add("--case", dest="only", metavar="GLOB", help="only cases whose keys match")
    add("--check", action="store_true", help="correctness only: every kernel once; no timing")
    add("--prepare", action="store_true",
        help="compile what will be measured, print nothing (asked before the first round)")
    add("--deep", action="store_true", help="every sweep (set by 'gpufloor run --deep')")
    add("--quick", action="store_true", help="no case is left out (set by 'gpufloor run --quick')")
    add("-j", "--json", action="store_true", help="print the run document, not the table")
    add("--counters", metavar="SET", help="refused: counters are read in the suite's own programs")
    add("--raw", metavar="FILE", help="append every raw sample to FILE (TSV)")
    add("--seed", type=whole(0, 2 ** 63 - 1), metavar="N", help="of the random inputs",
        default=time.monotonic_ns() >> 10 & 0xffffffff)
    add("--round", type=whole(0, 1000), default=0, metavar="N", help="this is round N, from 0")
    add("--rounds", type=whole(1, 1000), default=1, metavar="N", help="of N rounds")
    add("--list", action="store_true", help="print metrics and needs; with --json for programs")
    options = parser.parse_args(words)
    options.rounds = max(options.rounds, options.round + 1)
    return options


def list_text(probe, as_json):
    metrics = [{"name": m.name, "unit": m.unit, "better": m.better, "form": m.form,
                "timer": m.timer, "keys": m.keys, "what": m.what} for m in probe["metrics"]]
    if as_json:
        return json.dumps({"schema": "probe", "schema_version": 1, "name": probe["name"],
                           "what": probe["what"], "method": probe["method"],
                           "needs": probe["needs"], "min_cc": probe["min_cc"], "metrics": metrics,
                           "parameters": [], "cubins": {}, "prepares": True}, indent=1)
    lines = [f"{probe['name']}: {probe['what']}",
             f"method {probe['method']}, needs {probe['needs']}", ""]
    for m in probe["metrics"]:
        keys = ",".join(filter(None, (m.keys, m.timer and f"timer={m.timer}")))
        lines += [f"  {probe['name']}.{m.name}{{{keys}}}",
                  f"      {m.unit}, {m.better} is better: {m.what}"]
    return "\n".join(lines)


# --- one run --------------------------------------------------------------------------------------

class Run:
    """One process's measurement: what struct probe_run is to C."""

    def __init__(self, probe, options):
        self.probe, self.options = probe, options
        self.cases, self.checks, self.notes = [], [], []  # checks: those that failed
        self.metrics = {}  # unit and direction of each metric that a case has, by its name
        self.checks_passed = 0
        self.environment, self.cubins, self.ticks = {}, {}, {}
        self.status, self.why = OK, ""
        self.raw = None
        self.keys, self.n_cases, self.clock_mhz = None, 0, []
        self.steady_mhz = 0  # the SM clock of small work
        self.once = "check" if options.check else "prepared" if options.prepare else None

    # cases and the sample loop

    def case(self, keys, deep=False):
        """Starts a case. It is power-bound, as products are: its clock is recorded, and may move.
        False if this run leaves the case out."""
        self.close_case()
        if (deep and not self.options.deep) or (
                self.options.only and not fnmatch.fnmatchcase(keys, self.options.only)):
            return False
        self.keys, self.state, self.stopped = keys, "idle", None
        self.is_settled, self.dropped = False, []
        self.series, self.direct, self.missed, self.facts = {}, {}, {}, {}
        self.clock_mhz = []
        self.n_cases += 1
        return True

    def more(self):
        """True until the loop has 1000 passes, or 32 ms and 5, or is stable at 20, 28, 40 ... It waits
        for the power limit as a C loop does (docs/METHOD.md#samples)."""
        if self.state == "idle":
            self.state, self.passes = "warming", 0
            return True
        self.passes += 1
        if self.state == "warming":
            if self.passes < WARM_PASSES and not self.once:
                return True
            self.state = "sampling"
            self.sample_from_now()
            self.stopped = self.once
            return not self.once
        if self.passes >= PASSES_MAX:
            self.stopped = "count"
        elif self.passes >= PASSES_MIN and time.monotonic() - self.began > (
                QUICK_S if self.options.quick else CASE_S):
            self.stopped = "time"
        elif self.passes >= self.next_look:
            look = self.next_look  # 20, 28, 40, 56, 80 ...
            self.next_look = look // 7 * 10 if look % 7 == 0 else look // 5 * 7
            self.stopped = "stable" if self.all_stable() else None
        if self.stopped and self.waits_for_limit():
            self.stopped = None
        return self.stopped is None

    def sample_from_now(self):
        self.series, self.clock_mhz = {}, []
        self.passes, self.next_look, self.began = 0, FIRST_LOOK, time.monotonic()

    def is_at_limit(self):
        """Is the last quarter of the clock's readings low, or lower than the first?"""
        mhz, quarter = without_glitches(self.clock_mhz), len(self.clock_mhz) // 4
        if quarter == 0:
            return False
        first, last = (median(sorted(part)) for part in (mhz[:quarter], mhz[-quarter:]))
        return last < HELD_BACK * self.steady_mhz or last < (1 - FALLS) * first

    def waits_for_limit(self):
        """What was sampled before the limit acted is dropped."""
        if self.is_settled or self.options.quick or not self.is_at_limit():
            return False
        if time.monotonic() - self.began >= SETTLE_S or self.passes >= PASSES_MAX:
            mhz = without_glitches(self.clock_mhz)
            self.dropped.append({"min_mhz": rounded(min(mhz), CLOCK_DIGITS),
                                 "max_mhz": rounded(max(mhz), CLOCK_DIGITS)})
            self.is_settled = True
            self.sample_from_now()
        return True

    def all_stable(self):
        for metric, samples in self.series.items():
            sides = [v for _, v in sides_of(samples)] if metric.form == "slope" else [
                [v for _, v in samples]]
            if not all(narrow(side, self.tick(metric)) for side in sides):
                return False
        return True

    def tick(self, metric):
        return self.ticks.get(metric.timer, 0) if metric.timer else 0

    # what a probe hands over

    def sample(self, metric, n, value):
        if not (n > 0 and math.isfinite(value)):
            raise Leave(FAILED, f"harness: sample of {metric.name} is {value:g} for {n:g} units")
        self.series.setdefault(metric, []).append((n, value))
        if self.raw and self.state == "sampling":
            print(self.probe["name"], metric.name, self.keys, metric.timer or "-",
                  self.options.round, f"{n:.17g}", f"{value:.17g}", 0, sep="\t", file=self.raw)

    def taken(self, metric, values):
        """Takes samples of one unit of work each from a loop that is not the Run's own."""
        self.state, self.stopped = "sampling", "count"
        for value in values:
            self.sample(metric, 1, value)

    def clock(self, mhz):
        self.clock_mhz.append(mhz)
        self.steady_mhz = max(self.steady_mhz, mhz)

    def value(self, metric, value):
        if math.isfinite(value):
            self.direct[metric] = value
        elif not self.options.check:
            self.missing(metric, "not a finite number in this run")

    def missing(self, metric, why):
        self.missed[metric] = why

    def fact(self, key, text):
        self.facts[key] = str(text)

    def check(self, ok, what):
        self.checks_passed += bool(ok)
        if not ok:
            self.checks.append({"what": what, "ok": False})
            print(f"{self.probe['name']}: check failed: {what}", file=sys.stderr)
        return ok

    def close_case(self):
        if self.keys is None:
            return
        metrics = [self.metric_object(m) for m in self.probe["metrics"]
                   if m in self.series or m in self.direct or m in self.missed]
        if metrics:
            one = {"case": self.keys, "metrics": metrics, "power_bound": True}
            if self.stopped:
                one["stopped"] = self.stopped
            if self.dropped:
                one["dropped_loops"] = self.dropped
            if self.clock_mhz:
                c = summarise(without_glitches(self.clock_mhz))
                one["sm_clock"] = {"n": c["n"], "median_mhz": figure(c["median"]),
                                   "min_mhz": rounded(c["min"], CLOCK_DIGITS),
                                   "max_mhz": rounded(c["max"], CLOCK_DIGITS)}
            if self.facts:
                one["facts"] = self.facts
            self.cases.append(one)
        self.keys = None

    def metric_object(self, metric):
        one, words = {"name": metric.name}, {"unit": metric.unit, "better": metric.better}
        if self.metrics.setdefault(metric.name, words) != words:
            one.update(words)
        if metric.timer:
            one["timer"] = metric.timer
        if metric in self.direct or metric in self.missed:
            value = self.direct.get(metric)
            one.update(n=int(value is not None), median=None if value is None else figure(value))
            if metric in self.missed:
                one["why"] = self.missed[metric]
        else:
            one.update(figures_of(metric, self.series[metric], self.tick(metric)))
        return one

    # the document

    def document(self, started, elapsed_s):
        words = {OK: "ok", SKIPPED: "skipped"}
        o = self.options
        return {"schema": "run", "schema_version": 1,
                "probe": {k: self.probe[k] for k in ("name", "method", "what")},
                "status": words.get(self.status, "failed"),
                **({"why": self.why} if self.why else {}),
                "run": {"round": o.round, "rounds": o.rounds, "seed": o.seed, "started": started,
                        "elapsed_s": elapsed_s, "check": o.check, "deep": o.deep},
                "environment": self.environment, "cubins": self.cubins,
                "timers": {name: {"step_ns": step} for name, step in self.ticks.items()},
                **({"metrics": self.metrics} if self.metrics else {}),
                "cases": self.cases, "checks_passed": self.checks_passed,
                "checks": self.checks, "notes": self.notes}


def table_of(document):
    """Prints for a person who runs it by hand."""
    name = document["probe"]["name"]
    lines = [f"{name:92} {'median':>14} {'best':>14} {'n':>6}"] if document["cases"] else []
    for one in document["cases"]:
        for m in one["metrics"]:
            keys = ",".join(filter(None, (one["case"], m.get("timer") and f"timer={m['timer']}")))
            unit = m.get("unit") or document["metrics"][m["name"]]["unit"]
            shown = [f"{m[k]:.5g} {unit}" if m.get(k) is not None else "-"
                     for k in ("median", "best")]
            lines.append(f"{m['name'] + '{' + keys + '}':92} {shown[0]:>14} {shown[1]:>14} "
                         f"{m['n']:6}")
    held = document["checks_passed"]
    if held + len(document["checks"]) > 0:
        lines.append(f"{held} of {held + len(document['checks'])} checks passed")
    return "\n".join(lines + [f"note: {note}" for note in document["notes"]])


def first_line(error):
    """The first line of an exception's text, and the second if the first ends with a colon; without
    this machine's folders."""
    lines = str(error).strip().split("\n")
    text = " ".join(lines[:1 + lines[0].endswith(":")])
    return re.sub(r"[^\s'\"]*/", "", text)[:200]


def take(run, measure):
    """Calls measure(run) and catches everything that it raises."""
    try:
        if run.options.counters:
            raise Leave(SKIPPED, "hardware counters are read in the suite's own programs only")
        measure(run)
        run.close_case()
        if run.options.only and run.n_cases == 0:
            raise Leave(USAGE, f"--case {run.options.only}: no case has such keys")
        if run.checks:
            raise Leave(FAILED, "a check failed")
    except Leave as leave:
        run.status, run.why = leave.args
    except Exception as error:  # from a library: its text goes into the document
        run.status, run.why = FAILED, f"{type(error).__name__}: {first_line(error)}"


def put(name, text):
    """A result that cannot be delivered is a failure."""
    try:
        if text:
            print(text)
        sys.stdout.flush()
        return True
    except (OSError, ValueError):
        print(f"{name}: stdout: not written in full", file=sys.stderr)
        sys.stdout = None  # or the interpreter would try once more
        return False


def main(probe, measure, words=None):
    """The life of a probe: options, measure(run), the document or the table. Returns the exit."""
    options = options_of(probe, words)
    if options.list:
        return OK if put(probe["name"], list_text(probe, options.json)) else FAILED
    run = Run(probe, options)
    run.environment["peers"] = {"python": platform.python_version()}
    try:
        run.raw = open(options.raw, "a", encoding="utf-8") if options.raw else None
    except OSError:
        print(f"{probe['name']}: --raw {options.raw}: cannot be written", file=sys.stderr)
        return USAGE
    started, began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
    take(run, measure)
    if run.raw:
        run.raw.close()
    document = run.document(started, time.monotonic() - began)
    if run.why:
        print(f"{probe['name']}: {'skipped: ' * (run.status == SKIPPED)}{run.why}", file=sys.stderr)
    if run.status == USAGE or options.prepare:
        return run.status
    text = json.dumps(document, separators=(",", ":"), allow_nan=False) if options.json else \
        table_of(document)
    return run.status if put(probe["name"], text) else FAILED
