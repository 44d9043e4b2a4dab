from concurrent.futures import ProcessPoolExecutor
from collections import Counter
from games.source.duel.search.tuning import *
from games.source.duel.native.compiled import library
def rate(e):
    r=play([e.player],list(islice(shuffled_settings("stat",e.level),60)))
    return float(won(r).mean()), float(r["dealt"].sum()/r["rounds"].sum())
if __name__=="__main__":
    library(); pool=[e for e in read_pool() if not e.rival]
    with ProcessPoolExecutor(2) as ex: out=list(ex.map(rate,pool,chunksize=16))
    rows=sorted(((w-e.limit,w,t,e) for (w,t),e in zip(out,pool)),key=lambda r:-r[0])
    for x,w,t,e in rows[:45]: print(f"+{x:.2f} won {w:.2f} limit {e.limit:.2f} level {e.level} {kind_of(e.player)} late {e.player.late} every {e.player.interval} turtle {e.is_turtle} dealt {t:.0f}")
    c=Counter()
    for x,w,t,e in rows:
        if x>0: c[e.level]+=x
    print(c)
