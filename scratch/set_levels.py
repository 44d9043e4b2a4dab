import re,sys,json
# usage: setl.py FILE '{"4":"12,  6, ..."}'
p=sys.argv[1]; new=json.loads(sys.argv[2])
s=open(p).read(); i=s.index('static const struct skill skills'); j=s.index('};',i)
body=s[i:j].split('\n'); rows=[k for k,l in enumerate(body) if re.match(r'\s+\{ ?\d+, ',l)]
for k,v in new.items(): body[rows[int(k)-1]]='    {'+v+'},'
s=s[:i]+'\n'.join(body)+s[j:]
open(p,'w').write(s)
