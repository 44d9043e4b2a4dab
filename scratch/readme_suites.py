"""python scratch/readme_suites.py calibration.jsonl: README's tables of the suites, from the newest rows"""
import json, sys
rows = {}
last = None
for line in open(sys.argv[1]):
    d = json.loads(line)
    last = d["subject"]
for line in open(sys.argv[1]):
    d = json.loads(line)
    if d["subject"] == last:
        rows[d["row"]["what"]] = d["row"]
print(len(rows), "rows;", sum(r["processor_s"] for r in rows.values()) / 60, "min cpu;", sum(r["seconds"] for r in rows.values()) / 60, "min wall")
def pc(x): return f"{100*x:.1f} %"
def cell(name):
    r = rows[name]
    return f"{r['won']} of {r['n']}: {pc(r['share'])} ({100*r['low']:.1f} to {100*r['high']:.1f})"
for name in rows:
    if name.startswith(("noop", "random44", "rusher", "heavy", "left side")) or name in [f"{s} at 6" for s in ("aggressive", "defensive", "zoner", "grappler")]:
        print("|", name, "|", cell(name), "|")
for step in (1, 2):
    names = [f"level {l+step} against level {l}" for l in range(1, 11 - step)]
    print(f"| k + {step} wins |", " | ".join(pc(rows[n]["share"]) for n in names), "|")
    print("| at least |", " | ".join(pc(rows[n]["low"]) for n in names), "|")
for i in (30, 12, 6):
    for late in (0, 12):
        print(f"| {i} frames | {'at once' if not late else '12 late'} |", " | ".join(f"{100*rows[f'patient@{i}:{late} at {l}']['share']:.0f} %" for l in range(1, 11)), "|")
f = rows["patient@30:0 at 4"]
print(cell("patient@30:0 at 4"), "drawn", f["drawn"])
for l in range(1, 11):
    r = rows[f"patient@30:0 at {l}"]; s = sum(r["damage"].values())
    print(l, [f"{m} {d/s:.0%}" for m, d in sorted(r["damage"].items(), key=lambda e: -e[1])[:6]])
print("most by one move in any row of the teacher:", sorted(((max(r["damage"].values()) / sum(r["damage"].values()), n) for n, r in rows.items() if n.startswith("patient")), reverse=True)[:6])
for l in (4, 8):
    print(l, sorted((round(100 * r["share"], 1), n) for n, r in rows.items() if n.startswith("patient-") and n.endswith(f" {l}")))
print("drawn most:", sorted(((r["drawn"] / r["n"], n) for n, r in rows.items()), reverse=True)[:5])
print("on rom:", [n for n, r in rows.items() if r["on_rom"][0] != r["on_rom"][1]])
