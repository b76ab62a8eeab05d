# Indexes the lines of JSON in the file argv[1] in the database argv[2], then answers the
# queries on the standard input. Each answer is the seconds and the number found.
import json, sys, time, xapian

began = time.perf_counter()
db = xapian.WritableDatabase(sys.argv[2], xapian.DB_CREATE)
terms = xapian.TermGenerator()
count = 0
for line in open(sys.argv[1], encoding="utf-8"):
    doc = xapian.Document()
    terms.set_document(doc)
    terms.index_text(json.loads(line))
    db.add_document(doc)
    count += 1
db.commit()
db.close()
print(time.perf_counter() - began, count, flush=True)

db = xapian.Database(sys.argv[2])
parser = xapian.QueryParser()
parser.set_database(db)
flags = parser.FLAG_BOOLEAN | parser.FLAG_PHRASE | parser.FLAG_WILDCARD
for line in sys.stdin:
    q = json.loads(line)
    words = q["words"]
    text = {
        "all": " AND ".join(words),
        "any": " OR ".join(words),
        "phrase": '"' + " ".join(words) + '"',
        "prefix": words[0] + "*",
    }[q["kind"]]
    began = time.perf_counter()
    enquire = xapian.Enquire(db)
    enquire.set_query(parser.parse_query(text, flags))
    matches = enquire.get_mset(0, 10, count)  # looks at all, so that the number is exact
    found = matches.get_matches_estimated()
    print(time.perf_counter() - began, found, flush=True)
