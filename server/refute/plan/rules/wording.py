"""By which words people say what no machine can judge, and what no test can show.

Lists of words are a net with holes: where a rule can ask for what must be there instead (a checker's name, a
comparison), it does so, and these lists only name what is certainly wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.document import Section


def phrase(pattern: str) -> re.Pattern[str]:
    """A pattern in which each blank stands for any white space, since prose is wrapped anywhere."""
    return re.compile(pattern.replace(" ?", r"\s*").replace(" ", r"\s+"), re.I)


_THINGS = (
    r"(?:the )?(?:system|cluster|service|application|app|nodes?|pods?|brokers?|consumers?|queue"
    r"|replicas?|ui|users?"
    r"|everything|metrics?|graphs?|lag|performance|responses?|status page|health[ -]?checks?|(?:liveness"
    r"|readiness)"
    r" probes?|probes?|dashboards?|grafana|logs?|containers?|data|topics?|rows?|tables?|monitoring)"
)
_FINE = (
    r"(?:fine|ok|okay|clean|good|normal(?:ly)?|empty|green|healthy|up|stable|responsive|running|ready"
    r"|available"
    r"|acceptable|reasonable|plausible|sane|correct(?:ly)?|right|quiet|unaffected|as (?:expected|before)|well"
    r"|properly|gracefully|working)"
)
HUMAN_ORACLE = phrase(
    rf"\b{_THINGS} (?:\w+ )?(?:looks?|is|are|seems?|stays?|remains?|keeps?|shows?|behaves?|works?"
    rf"|continues?(?: to be)?"
    rf"|reports?|recovers?|returns?|drains?|pass(?:es)?) (?:\w+ )?{_FINE}\b"
    r"|\bno (?:unexpected |visible |obvious |new )?(?:errors?|exceptions?|warnings?|panics?|alerts?"
    r"|alarms?|complaints?"
    r"|spikes?|stack ?traces?|crash(?:es)?|anomal(?:y|ies) in the (?:logs?|metrics)|data loss is (?:seen"
    r"|observed))\b"
    r"(?! (?:than|rate|above|over))"
    r"|\berror[ -]free\b|\bnothing (?:suspicious|unusual|strange|odd|wrong|bad)\b"
    r"|\b(?:looks?|seems?) (?:right|good|correct|fine|ok|okay|sane|normal|reasonable|plausible)\b"
    r"|\b(?:is|are|stays?|remains?|shows?) (?:green|healthy|stable|responsive|ready|running)\b"
    r"|\b(?:works?|behaves?|recovers?|continues?) (?:as expected|correctly|fine|properly|normally"
    r"|gracefully|well)\b"
    r"|\bkeeps? (?:working|running|going|consuming|serving)\b"
    r"|\b(?:system|cluster|service|application) recovers\b(?! (?:in|within|after) \d)"
    r"|\b(?:manual(?:ly)?|visual(?:ly)?)\b.{0,20}\b(?:inspect|verif|check|review|look|confirm)\w*"
    r"|\beyeball|\bby eye\b|\bspot[ -]?checks?\b|\bsanity[ -]checks?\b|\bsmoke tests? (?:pass|are|is)\w*"
    r"|\b(?:operators?|someone|somebody|qa|engineers?|on-?call|users?|testers?|we) (?:\w+ )?(?:confirms?"
    r"|checks?|looks?"
    r"|signs? off|compares?|verif(?:y|ies)|inspects?|judges?|notices?|do(?:es)? not notice)\b"
    r"|\b(?:ui|page|website) loads\b|\b(?:logs?|output) (?:contains?|shows?|has|have) (?:no|nothing)\b"
    r"|\bhealth[ -]?checks? (?:pass(?:es)?|is|are|stays?|returns?|remains?)\b"
    r"|\b(?:liveness|readiness) probes? (?:pass|succeed)\w*|\b(?:answers|replies|returns|says) pong\b"
    r"|\bdashboards? (?:is|are|look|stay|show)"
    r"|/(?:healthz?|ready|readyz|livez|ping)\b (?:answers|returns|replies) (?:with )?(?:200|ok)\b"
    r"|\b(?:grafana|graphs?|curves?|metrics?) (?:stays?|remains?|is|are) flat\b"
    r"|\b(?:journal|logs?|syslog) (?:\w+ ){0,4}(?:is|are|stays?|remains?) (?:quiet|silent)\b"
    r"|\b(?:is|are|everything) back to normal\b|\bwithout (?:any )?(?:stack ?traces?|panics)\b"
    r"|\b(?:cpu|memory|heap)\b[^.;|]{0,30}\b(?:stays?|remains?|is|are|below|under|does not"
    r"|flat)\b(?!.*\b(?:job|write"
    r"|row|id|key|record)s?\b)"
    r"|\ball green\b|\bno (?:customer|user|client|merchant)s? (?:notices?|complains?|sees?)\b|\bselect 1\b"
    r"|\bnodetool status\b(?!.*\b(?:within|equals?|count)\b)|\bpg_isready\b|\bstatus (?:says"
    r"|is|shows) UN\b"
    r"|\b(?:customers?|users?|qa|operators?|teams?) (?:is|are) (?:happy|satisfied|content)\b"
    r"|\b(?:customers?|users?|tenants?|clients?) (?:report no|(?:do|does) not complain)\b"
    r"|\btail the logs?\b|\bthe process(?:es)? (?:has|have) not crashed\b|\bfeels? (?:fast|right)\b"
)
"""What only a person can judge, or what a broken system shows too."""

COMPARISON = phrase(
    r"\d|[=≤≥<>≠⊆∈]|\b(?:equals?|exactly|at most|at least|no (?:more|less|fewer|later|earlier) than"
    r"|every|each|all|none"
    r"|never|same|identical|subset|superset|sum|counts?|number of|set of|order(?:ed)?|monoton\w+"
    r"|linearizab\w+"
    r"|serializab\w+|sequential\w*|isolation|refused|denied|rejected|forbidden|absent|missing|only"
    r"|nothing|twice|once|unique"
    r"|duplicat\w+|lost|stale|overlap\w*|within|below|above|ratio|index|percentile|invariant"
    r"|compare[ds]?|diff(?:ers?|erence)?"
    r"|checksum|digest|newest|latest|last (?:acknowledged|written|committed)|its own|must|not)\b"
)
"""What a program could decide in a sentence: a number, an equality, a quantifier, a property by name."""

ABSOLUTE = phrase(
    r"\b(?:cannot|can't|can not|could not|couldn't|will never|will not|won't|can never|never) (?:ever "
    r"|possibly )?"
    r"(?:happens?|occurs?|fails?|go wrong|loses?|be (?:lost|stale|wrong|broken|duplicated|corrupted)"
    r"|breaks?|corrupts?"
    r"|diverges?|duplicates?)\b"
    r"|\bthere is no (?:way|chance|possibility|risk|doubt)\b|\bno (?:way (?:that|to)|possibility of"
    r"|chance (?:that|of))\b"
    r"|\b(?:is|are|am|be) (?:absolutely |completely |entirely |quite )?(?:certain|sure) (?:that|of|it)\b"
    r"|\b(?:nothing|no(?:thing| failure| fault)) can (?:go wrong|break|fail|happen)\b"
    r"|\bexhaustive(?:ly)? (?:tested|covered|verified|tests?|coverage|checked)\b|\beliminat\w+ (?:the "
    r"|any |all )?(?:risk"
    r"|possibilit)\w*|\b(?:under|in) (?:all|any|every) (?:possible )?(?:circumstances?|cases?"
    r"|conditions?|situations?)\b"
    r"|\bruled out\b|\brules? out (?:all|every|any)\b|\b(?:prove[ds]?|proven|proves|proof) (?:that|to be"
    r"|of|the|it|this|beyond"
    r"|correct)\b|\b(?:is|are) (?:not possible|impossible)\b|\bimpossible\b|\bbeyond (?:any |all "
    r"|reasonable )*doubt\b"
    r"|\balways (?:be )?(?:consistent|correct|holds?|safe|available|durable|kept|right|work\w*)\b"
    r"|\bwill always\b"
    r"|\b(?:zero|no (?:remaining )?) ?(?:risk|bugs?|doubt|chance)\b|\bbug[ -]free\b"
    r"|\b(?:complete|full|total|100 ?%) (?:coverage|confidence|certainty|assurance)\b|\b100 ?% (?:safe"
    r"|correct|sure"
    r"|confiden\w+|certain|cover\w+|reliable)\b"
    r"|\b(?:fully|completely|absolutely|perfectly|totally|definitely|certainly|entirely) (?:safe|correct"
    r"|certain|sure|covered"
    r"|reliable|tested|verified|holds?|works?|impossible|consistent|durable|excluded)\b"
    r"|\bguarantees (?:correct|that|no|zero|the)\b|\bguaranteed (?:that|to|correct|safe|no)\b"
    r"|\bwe know (?:that )?(?:it|this|the \w+) (?:works?|holds?|is (?:correct|safe))\b|\bwithout any doubt\b"
    r"|\b(?:can|we) guarantee (?:that|no|zero)\b|\b(?:zero|no) (?:residual|remaining) (?:risk|doubt)\b"
    r"|\bprovably\b|\binconceivable\b|\bunthinkable\b"
    r"|\bthere (?:will be|can be|are|is) no (?:more |remaining )?(?:data |lost |dirty |stale "
    r"|race )?(?:loss|losses"
    r"|duplicates?|bugs?|failures?|violations?|races?|conditions?|reads?|updates?|anomal\w+|errors?)\b"
    r"|(?<!un)certainty\b|\bnothing (?:is|was) left to chance\b|\b(?:is|makes?)\b[^.;"
    r"|]{0,30}\bunachievable\b|\bmathematical(?:ly)? (?:certain|proo[fv]\w*|sure)\b"
    r"|\b(?:is|are|was|were|been|be|stays?) (?:fully |completely |thereby |now )?(?:excluded|eliminated"
    r"|precluded"
    r"|unachievable|assured|watertight|bulletproof|foolproof|failsafe|immune|infallible|ruled out)\b"
    r"|\b(?:we|they|one|tests?) can (?:safely )?exclude\b|\bimmune (?:to|against)\b|\bfree (?:of"
    r"|from) (?:\w+ )?(?:deadlocks?|bugs?|races?|errors?|defects?|anomal\w+)\b|\bno room for\b"
    r"|\bnothing (?:was|has been|is) (?:overlooked|missed|forgotten|left out)\b|\bcoverage is (?:complete"
    r"|full|total|exhaustive)\b|\b(?:have|has|had) (?:been )?prove[nd]\b|\b(?:can|will|could"
    r"|shall) never (?:be )?\w+"
    r"|\bfully fault[ -]tolerant\b"
    r"|\bout of the question\b|\bbeyond (?:all |any )?question\b|\ba thing of the past\b|\bleft to chance\b"
    r"|\bunder no circumstances?\b|\bwithout (?:any )?exceptions?\b|\bin (?:all|any|every) situations?\b"
    r"|\bno (?:\w+ ){1,4}(?:can|could|will|may|shall) (?:ever )?(?:be |get |go |remain |still )?\w+"
    r"|\bno (?:possible |failure |thinkable )?(?:execution|scenario|interleaving|schedule)s? (?:violates?"
    r"|remains?|breaks?)"
    r"|\bnothing (?:\w+ ){0,2}(?:can|could|will|may) (?:ever )?(?:be |get |go )?\w+"
    r"|\b(?:do|does) not (?:occur|happen|exist|arise)\b|\bno longer (?:possible|happens?|occurs?)\b"
    r"|\b(?:every|all|each) (?:possible |conceivable |known )?(?:interleaving|failure mode|failure|fault"
    r"|case|path"
    r"|schedule|scenario|execution|race)s? (?:\w+ )?(?:is|are|was|were|has been|have been) (?:covered"
    r"|tested|tried|checked"
    r"|handled)\b|\bcovers? (?:everything|all|every)\b"
    r"|\b(?:risk|chance|probability|likelihood)\b[^.;|]{0,30}\b(?:is|are|becomes) (?:zero|nil|none|0)\b"
    r"|\b(?:is|are|will be|stay|stays|remain|remains) always \w+|\balways (?:converges?|succeeds?|wins?"
    r"|recovers?)\b"
    r"|\b(?:is|are|has been|have been) proven\b|\b(?:is|are|gives?|as) (?:a |the )?proof\b"
    r"|\bproves? (?:correctness"
    r"|safety|durability|consistency)\b"
    r"|\b(?:fully|completely) verif\w+|\bdemonstrates? (?:the |an? )?absence\b|\babsolutely no\b"
    r"|\b(?:100|hundred) (?:per ?cent|%) (?:safe|sure|correct|certain)\b|\bno (?:\w+ )?(?:bugs?"
    r"|defects?) (?:are )?left\b"
    r"|\b(?:definitely|certainly|surely|undoubtedly) (?:\w+ )?(?:survives?|holds?|works?|safe|correct|kept"
    r"|durable)\b"
    r"|\bwe are sure\b|\b(?:we|it|this|system|\w+) guarantees? (?:\w+[ -]?)?(?:once|durab|consisten|isolat"
    r"|order|safe)\w*"
    r"|\bis guaranteed\b|\bguaranteed (?:to|that|by)\b|\bany (?:\w+ )?(?:loss|bug|violation"
    r"|anomaly) would (?:be|have been) (?:detected|found|noticed|seen)\b"
    r"|\b(?:completely|entirely|perfectly|totally) safe\b"
    r"|\bnever (?:loses?|lost|stale|processes?|duplicates?|diverges?|breaks?|fails?|corrupts?|returns?"
    r"|serves?|forgets?"
    r"|deadlocks?|goes? missing)\b"
)
"""Certainty, which no test gives."""

_DENIED = re.compile(r"\b(?:not|never|no|nor|nothing|nobody|none|cannot|without|hardly|few)\b|n't\b", re.I)

UNDECIDED = re.compile(
    r"\b(?:never|info|unknown|indeterminate|ambiguous|maybe|may|might|open|undecided)\b", re.I
)

EXIT_CODE = phrase(
    r"(?:command|tool|script|injector|nft|iptables|\btc\b|kubectl|docker|helm|chaos ?mesh|chaos ?monkey"
    r"|gremlin|litmus|ansible|api"
    r"|call|request|toxiproxy|ssh|systemctl|playbook)\b[^.;|]{0,120}?"
    r"(?:exits? (?:with )?(?:0|zero|clean\w*)|(?:came|comes) back with (?:0|200|ok)"
    r"|reports? changed|exit (?:code|status)|returns? (?:0|ok|success\w*|200|204"
    r"|normally)|returned"
    r" (?:0|ok|success\w*|200)|succeed\w*|reports? (?:ok|success|done)|without (?:an? )?errors?"
    r"|no errors?|accepted|was (?:run"
    r"|created|executed|applied|called)|completes?|completed|says (?:ok|done|so))"
    r"|\bp?kill(?:\(1\))? (?:-\w+ )?(?:\w+ )?(?:exits? (?:with )?(?:0|zero)|return(?:s|ed) (?:0|ok))\b"
    r"|\b(?:helper|script|tool|command) (?:printed|prints) \W?(?:done|ok|success)"
    r"|no error from the (?:tool|command|injector)"
    r"|\b(?:fault|experiment|chaos|injection) (?:was|is|has been) (?:applied|injected|started|triggered"
    r"|created)(?: success\w*)?"
)
"""The success of whatever applied a fault, which says nothing about the system under test."""


def said_in(section: Section, words: re.Pattern[str], *, denied: bool = False) -> Iterator[tuple[int, str]]:
    """Line and text of each place in a section that matches.

    With `denied`, places whose clause denies it (`does not prove that`) are left out.
    """
    for found in words.finditer(section.text):
        clause = re.split(r"[.;:|,]\s|\n\s*\n", section.text[max(0, found.start() - 60) : found.start()])[-1]
        if denied and _DENIED.search(clause):
            continue
        yield section.line_at(found.start()), " ".join(found[0].split())
