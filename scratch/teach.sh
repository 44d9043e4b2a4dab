s=$1; cd /tmp/t$s; export PYTHONPATH=/tmp/t$s; P=/work/main/.venv/bin/python; $P -m games.source.duel.search.teaching --seed $s 2>&1 | tail -1;  $P -c "
from itertools import islice
from games.source.duel.matches import settings, play_one
from games.source.duel.counting import row_of
for pol,lev in (('patient@30:0',4),('patient@30:0',8)):
    r=row_of(pol,list(map(play_one,islice(settings(pol,lev),150))),150); s=sum(r['damage'].values())
    print($s,lev,r['won'],{k:round(v/s,2) for k,v in sorted(r['damage'].items(),key=lambda t:-t[1])[:5]})
"
