"""Grammar of control phrases: yes, no, wait, cancel, repeat, help, goodbye."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pipelines.text.language import ENGLISH, language_of, spoken_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.dialog.agent.value_list import Word

MAX_WORDS = 40
"""Words of a text that is read; a longer one is a single unread phrase, for nobody agrees in so many words."""


class Kind(enum.Enum):
    """Meaning of a phrase."""

    YES = "yes"
    ACT = "act"
    NO = "no"
    WAIT = "wait"
    CANCEL = "cancel"
    COMPLETE = "complete"
    DONE = "done"
    GOODBYE = "goodbye"
    RESTART = "restart"
    REPEAT = "repeat"
    HELP = "help"
    HUMAN = "human"
    ROBOT = "robot"
    SUMMARY = "summary"
    BACK = "back"
    GREETING = "greeting"
    THANKS = "thanks"
    FILLER = "filler"
    UNREAD = "unread"


class Phrase(NamedTuple):
    """Words ``start`` to before ``end`` of a text, and what they say."""

    kind: Kind
    start: int
    end: int


def _any(phrases: str) -> str:
    """Compile phrases, separated by bars; longer ones are tried first."""
    parts, depth = [""], 0
    for character in re.sub(r"\s*\n\s*", "", phrases):
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return f"(?:{'|'.join(sorted(parts, key=len, reverse=True))})"


# What is agreed to, and how it is called.
_THINGS = _any("""order|booking|reservation|appointment|table|request|purchase|payment|transfer|tickets?|alarm
    |details?|data|numbers?|summary|information|info|choice|answer|whole thing|lot|date|day|time|address|name|amount""")
_THAT = (
    rf"(?:all of (?:that|it|this)|(?:the|my|our|your|this|that) {_THINGS}|that one|this one|that|it|this|them|these"
    rf"|those)"
)
_SUBJECT = (
    rf"(?:all of (?:that|it|this)|(?:that|this) one|that|it|this|these|those|they|everything|all"
    rf"|what you (?:said|have)|you"
    rf"|(?:all |every |each )?(?:(?:the|my|our|your|these|those) )?{_THINGS}(?: you (?:have|gave|read|said|took))?)"
)
_BE = (
    r"(?:'s|'re| is| are| was| will be|'ll be| would be|'d be| should be| must be| has to be| ought to be"
    r"|(?: all)? (?:looks?|sounds?|seems?|feels?)(?: like)?)"
)
_LOOKS = r"(?:(?:all )?(?:looks?|sounds?|seems?)(?: like)?|(?:should|would|will|must) be)"
_STRONGLY = _any("""just|really|quite|very|so|absolutely|totally|completely|perfectly|entirely|all|exactly|precisely
    |pretty|definitely|certainly|indeed|more than|100 percent|a hundred percent|one hundred percent|hundred percent
    |actually|fully|most|simply|truly""")
_VERY = _any(f"{_STRONGLY}|also|still|only|about|even|too|honestly|good and|nice and|a|an")
_FINE = _any("""right|correct|fine|good|great|perfect|ok|okay|all right|alright|cool|exact|accurate|true|excellent
    |wonderful|lovely|brilliant|fantastic|awesome|amazing|super|superb|splendid|ideal|nice|acceptable|agreeable
    |spot on|in order|dandy|marvelous|marvellous|terrific|magnificent|fabulous|impeccable|flawless|delightful|neat
    |sweet|satisfactory|suitable|deal|plan|yes|winner|match|dead on|bang on|on point|on the money|the ticket|sound
    |solid|reasonable|faultless|settled|agreed|confirmed|complete|good to go|good enough|well|swell|great idea
    |good idea|good plan|fine idea|no problem|for sure|the one|the right one|as it should be|right up my street
    |my (?:wish|choice|order|answer|name|number)""")
_AS_WANTED = _any("""what i (?:just )?(?:want|wanted|said|meant|mean|need|needed|asked for|ordered|had in mind|like
    |would like|was looking for|was after|chose|told you|was hoping for|hoped for)|how i (?:want|wanted|like|meant) it
    |the way i (?:want|wanted|like) it|as i (?:said|wanted|wanted it|want it|told you)""")
_FOR_ME = _any("""to me|for me|by me|with me|for us|with us|by us|to us|as it is|as is|like that|like this|that way
    |the way it is|enough|i think|i guess|i believe|i suppose|i'd say|in my book|from my side|on my side|from me
    |on my end|on our end|with it|with that|thus far|so far|about it|about that|in every way|as far as i can (?:tell
    |see)|as far as i'm concerned|in all respects|word for word|to a t|as you said|as you said it|as stated
    |as described|now|to my knowledge""")
_SUFFIX = rf"(?: {_FOR_ME}){{0,2}}"
_WORKS = _any("""works?|reads (?:correctly|right|well|fine)|rings true|ticks all (?:the|my) boxes|will work|'ll work
    |would work|should work|ought to work|'d work|should do|does|will do|'ll do|suits?|fits?|checks out|adds up
    |matches|makes sense|does it|does the trick|will suit|'ll suit|would suit|does the job|hits the spot|goes""")
_WORKS = rf"(?:{_WORKS}|matches {_AS_WANTED})"
_WELL = _any(
    "me|us|for me|for us|fine|well|perfectly|great|nicely|just fine|very well|the bill|like a charm|good|my needs"
)
_ALSO = _any(
    "do|really|certainly|definitely|absolutely|fully|totally|completely|hereby|wholeheartedly|gladly|happily|can"
    "|just|also|would|sure"
)
_ACTS = _any("""book|order|buy|send|place|submit|confirm|confirmed|take|make|schedule|reserve|save|register|pay|finish
    |complete|process|finali[sz]e|execute|approve|accept|transfer|sign|put|get|do|enter|arrange|keep|lock in
    |go ahead with|go ahead and|go on and|proceed with|continue with|carry on with|go on with|go with
    |follow through with|authori[sz]e|perform|secure""")
_HOW = _any("""in|through|for me|for us|me|us|me down|now|right now|right away|then|please|already|at once|asap
    |immediately|straight away|like that|like this|that way|as is|as it is|so|with it|with that|happen|as planned
    |as discussed|as stated|as described|as you said""")
_DO = rf"(?:{_ACTS}(?: {_THAT}| {_THINGS})?(?: {_HOW}){{0,3}})"
_PLAIN_DO = _any("""go (?:right |straight )?ahead|go for it|go on|do it|do that|do so|do this|proceed|continue
    |carry on|confirm|confirmed|make it so|make it happen|make that happen|ship it|send it off|be my guest|feel free
    |hit it|fire away|let's do it|let's do that|let's do this|let's go|let's go for it|let's go with (?:that|it)
    |let's roll|by all means do|sign me up|count me in|i'm in|i am in|do|do just that|keep going|move ahead
    |move forward|get going|get on with it|get it done|let's have it|bring it on|on you go|off you go|crack on""")
_LEAD = _any("""please|just|kindly|you can|you may|you could|you should|can you|could you|would you|will you|let's
    |let us|i want you to|i'd like you to|i would like you to|i want to|i'd like to|i would like to|i wish to|do|then
    |so|feel free to|i'd love to|i'd be happy to|i am happy to|i'm happy to|i'm ready to|go ahead and|we can|we should
    |it's okay to|it is okay to|it's fine to|you're free to|i'd be glad to|you have my permission to|i allow you to
    |i permit you to|i give you permission to|i need you to""")
_ASSERT = _any("""confirm|agree|accept|approve|consent|concur|affirm|assent|acknowledge|second (?:that|it)|think so
    |guess so|suppose so|believe so|reckon so|hope so|imagine so|should think so|suppose|guess|do|am|would|(?:like
    |love|want|need|take|have|mean|accept|confirm|approve|support|authori[sz]e) (?:it|that|this|everything)|(?:want
    |take|have) (?:this|that) one|(?:want|like|love|wish) to|say yes|said yes|say so|go (?:along )?with (?:it|that)
    |agree (?:with|to) (?:it|that|this|you)|approve of (?:it|that|this)|consent to (?:it|that|this)|stand by (?:it
    |that)|can live with (?:it|that)|vote yes|give my (?:ok|okay|consent|permission|approval)|go for (?:it|that)
    |reckon|'ve (?:no|nothing) (?:objections?|to add)|have (?:no|nothing) (?:objections?|complaints?
    |problem with (?:it|that)|to add|against it)""")
_I_AM = _any("""(?:glad|happy|delighted|pleased) to(?: (?:confirm|proceed|go ahead|agree))?|good to go|ready
    |all set to go|sure|certain|positive|happy|happy to|happy with (?:it|that|this)|fine with (?:it|that|this)
    |good with (?:it|that|this)|ok with (?:it|that|this)|okay with (?:it|that|this)|satisfied(?: with (?:it|that))?
    |pleased(?: with (?:it|that))?|all for it|cool with (?:it|that|this)|on board|in favo(?:u)?r|in agreement
    |down with (?:it|that)|down for (?:it|that)|comfortable with (?:it|that)|content with (?:it|that)|okay|sold
    |all right with (?:it|that)|happy to confirm|delighted|game|up for it""")
# Phrases with a word of denial that are yes all the same, and those with "but".
_NOT_NO = _any(r"""no problem(?: at all)?|not a problem(?: at all)?|no worries|no doubt(?: about it| about that)?
    |without (?:a )?doubt|without question|no question(?: about it)?|why not|i don't see why not|don't see why not
    |why wouldn't i|no objections?(?: from me| here| at all)?|no complaints(?: here| from me)?|no issues?(?: here
    | with that)?|no changes?(?: needed| required| please| necessary| at all)?|nothing to (?:change|add|correct)
    |nothing wrong with (?:it|that)|no need to change (?:anything|it|that)|don't change (?:anything|a thing|it)
    |not bad(?: at all)?|can't complain|couldn't be (?:better|happier|clearer|more (?:right|correct|perfect|happy
    |accurate|certain|sure))|beyond (?:a |any |all )?doubt|couldn't agree more|(?:i )?couldn't have (?:said
    |put) it better(?: myself)?|i couldn't agree more|i wouldn't change (?:a thing|anything)
    |wouldn't change (?:a thing|anything)|no mistakes?(?: there| here| in it)?|no errors?(?: there| here)?
    |no corrections?(?: needed| required)?|i(?:'ve| have) no objections?|i don't mind(?: at all)?|i do not mind
    |don't mind if i do|you're not wrong|you are not wrong|but of course|(?:and )?don't (?:let|make) (?:me|us) wait
    |can't argue with that|nothing else to (?:add|change)|nothing to object to|not at all wrong|no two ways about it
    |needless to say|there's no doubt(?: about it)?|i have no doubts?|no reason not to|no hesitation""")
_NO_BUT_FINE = (
    rf"no(?: no)?(?: no)?,? (?:that|it|this|everything|all)(?: all)?(?:'s|'re| is| are|(?: all)? looks?"
    rf"|(?: all)? sounds?)?(?: {_VERY}){{0,2}} (?:fine|ok|okay|good|great|perfect|alright|all right|cool){_SUFFIX}"
)
_YES = (
    _any("""mmhmm|consider (?:it|that|this) (?:confirmed|done|agreed|approved|accepted)|so far so good|done and dusted
    |seal the deal|(?:let's |please )?make it official|(?:please )?put (?:me|us) down(?: for (?:it|that|this))?
    |count (?:me|us) in|we're in|we are in|y+e+s+|y+e+a+h*|y+e+p+|y+u+p+|o+k+a+y+|s+u+r+e+|ye|jep|(?:totally
    |completely|fully|wholeheartedly|absolutely|strongly) (?:agree|approve|concur|support (?:it|that))|indubitably
    |doubtless|undeniably|emphatically|damn straight|sure as hell|right as rain|(?:right )?on the (?:nose|money)
    |tip top|top|first class|hunky dory|peachy|hear hear|seconded|i second that|(?:the )?green light
    |you have the green light|we have a deal|we've got a deal|(?:good|great|excellent|nice|fine|perfect|wise
    |brilliant) (?:stuff|choice|thing|idea|plan|call|job|deal|thinking)|that(?:'s| is) (?:the (?:plan|idea|way|spirit
    |ticket)|(?:just|exactly|precisely|about) it)|it's a go|it is a go|go go(?: go)*|signed off|yes sir|ya|yah|yea|aye
    |yes sir|yessir|yeah boy|yass|yas|yay|sure|sure thing|sure (?:do|does|am|would)(?! it| that| so)|sure is|correct
    |right|right on|right you are|rightly so|quite right|quite so|just so|too right|damn right|exactly|exactly so
    |exactly that|exactly right|precisely|precisely so|absolutely|definitely|certainly|affirmative|of course|obviously
    |clearly|naturally|undoubtedly|indeed|indeed it is|okay|ok|o k|a ok|a okay|okey dokey|okie dokie|okey doke
    |okeydokey|okay dokay|oki doki|kk|k|fine|perfect|great|good|cool|all right|alright|alrighty|righto|righty o
    |righty ho|roger|roger that|copy that|copy|ten four|10 4|aye aye|bingo|deal|it's a deal|done|done deal|agreed
    |granted|confirmed|approved|accepted|acknowledged|authori[sz]ed|permission granted|affirmed|totally|surely|truly
    |gladly|happily|with pleasure|my pleasure|by all means|you bet|you betcha|you bet i do|you know it|you got it
    |you've got it|you have it|you have got it|mhm|mm hmm|mm hm|mmhm|mhmm|uh huh|aha|ah ha|yuppers|yepper|yep yep
    |for sure|sure enough|very much so|very much|very well|very good|very true|well said|true|that's true|true that
    |so it is|that it is|it is|it sure is|it certainly is|it does|it will|they are|it is indeed|they do|that's me
    |that is me|we are|we do|i should say so|thumbs up|amen|hell yes|hell yeah|heck yes|heck yeah|oh yes|oh yeah
    |ten out of ten|100 percent|a hundred percent|one hundred percent|hundred percent|spot on|bang on|dead on
    |dead right|on point|nailed it|you nailed it|good to go|works|works great|works fine|works well|good call
    |good choice|good thinking|all good|all set|all correct|all clear|all fine|all right by me|all yours|we're good
    |we are good|good idea|good plan|great idea|good enough|fair enough|excellent|wonderful|lovely|brilliant|fantastic
    |awesome|amazing|super|superb|splendid|ideal|nice|nice one|terrific|marvellous|marvelous|fabulous|sweet|neat|swell
    |dandy|beautiful|magnificent|outstanding|smashing|groovy|my answer is yes|the answer is yes|the answer's yes
    |that's a yes|it's a yes|it is a yes|that is a yes|a yes|big yes|a big yes|yes from me|say yes
    |consider it (?:confirmed|done|agreed)|i (?:do|am|would|will|could) indeed|you have a deal|you have my (?:ok|okay
    |permission|consent|approval|go ahead|blessing|word)|you've got a deal|got it in one|in one|you(?:'ve
    | have)? (?:got|have|heard|read|understood|said|put|took|wrote|noted)(?: (?:it|that|me|everything|this
    |all of it))?(?: all| back| down)? (?:right|correctly|perfectly)|you read my mind|you (?:can|may)(?: indeed)?
    |let's|yes let's|(?:love|like|want) (?:it|that|this)|(?:lock|put|set) (?:it|that|this) in|leave (?:it|that
    |everything) (?:as it is|as is|like that|like this|that way)|that'd be it|that would be it|that will be it
    |that'll be it|that's it|that is it|this is it|why of course|why yes|i should think so|i'd say so|i imagine so
    |most definitely|most certainly|most assuredly|assuredly|unquestionably|positively|positive|decidedly|evidently
    |always|without fail|any time|anytime|whenever you're ready|ready when you are|i'm ready|i am ready|word|bet|facts
    |for real|no cap|yes siree|bien sur|jawohl|si|oui|da|ja|hai|yis|yus|yaas|uh yeah|as you wish|as you say|so be it
    |make my day|count on it|music to my ears|consider me in|i am for it|that's what i'm talking about"""),
    rf"{_SUBJECT}{_BE}(?: {_VERY}){{0,3}} (?:{_FINE}|{_AS_WANTED})(?: then| and (?:{_VERY} )?{_FINE})?{_SUFFIX}",
    rf"(?:{_VERY} ){{1,2}}{_AS_WANTED}",
    rf"(?:that|this|it)(?:'s| is) (?:my|our|the right) {_THINGS}",
    rf"{_LOOKS}(?: {_VERY}){{0,2}} {_FINE}{_SUFFIX}",
    rf"(?:{_VERY} ){{0,2}}{_FINE}(?: {_FOR_ME}){{1,2}}",
    rf"(?:{_STRONGLY} ){{1,2}}{_FINE}",
    rf"{_SUBJECT}(?: {_VERY})?(?: |(?='))(?:all )?{_WORKS}(?: {_VERY})?(?: {_WELL}){{0,3}}{_SUFFIX}",
    rf"(?:i|we)(?:'d|'ll|'ve)?(?: {_ALSO}){{0,2}} {_ASSERT}{_SUFFIX}",
    rf"(?:(?:i'm|i am|we're|we are|i'd be|i would be|i'll be|we'd be) )?(?:{_VERY} ){{0,2}}{_I_AM}",
    rf"{_WORKS}(?: {_VERY})?(?: {_WELL}){{1,3}}{_SUFFIX}",
    rf"(?:you're|you are)(?: {_VERY})? (?:right|correct|spot on|welcome to|free to|good to go)",
    _NOT_NO,
    _NO_BUT_FINE,
)
_ACT = (
    (
        rf"(?!(?:can|could|would|will) you (?:please |just )?confirm)(?:{_LEAD} ){{0,3}}(?:{_ACTS} {_THAT}"
        rf"|{_ACTS} {_THINGS}|{_PLAIN_DO})(?: {_HOW}){{0,3}}"
    ),
    rf"(?!(?:can|could|would|will) you (?:please |just )?confirm)(?:{_LEAD} ){{1,3}}{_DO}",
)
_NO = (
    _any(r"""no|nope|nah|naw|nay|noo+|negative|never|no way|not|cannot|none|nothing|neither|nor|nobody|without|wrong
    |wrongly|incorrect|incorrectly|false|untrue|inaccurate|mistaken?|mistakes|error|errors|misunderstood|misunderstand
    |misunderstanding|misheard|mishear|misread|refuse|refused|reject|rejected|decline|declined|deny|denied|disagree
    |disagreed|object|objection|oppose|against|unacceptable|almost|nearly|partly|partially|half|missing|forgot
    |forgotten|depends|maybe|perhaps|possibly|dunno|erase|remove|kidding|joking|count me out|i'm out|leave it
    |leave that|leave it be|leave it alone|bad|terrible|awful|horrible|nonsense|rubbish|bullshit|uh uh|nuh uh|unh unh
    |nix|veto|pass|i'll pass|hardly|barely|scarcely|dislike|hate|doubt|doubtful|unsure|uncertain|undecided|impossible
    |hesitant|change|changes|changed|modify|adjust|correct (?:that|it|this)(?! is| looks?| sounds?| works?| one| will
    | does)|correction|edit|amend|fix|redo|revise|different|differently|another|other|instead|else|rather|wait|yet
    |later|next time|another time|some other time|some other day|only if|unless|except|until|try again|revert
    |undo|hang on|hold your horses|back up|slow down|easy|do not|as if|yeah right|fat chance|in your dreams
    |over my dead body|forget (?:it|that)|too (?:much|many|late|early|expensive|few|little|big|small|large|long|far
    |soon)"""),
    r"\w+n't",
)
_NO_WHOLE = (
    _any(r"""no thanks|no thank you|not (?:really|quite|right|correct|that|yet|now|today|tonight|this time|at all
    |exactly|necessarily|at the moment|right now|for me|for now|likely|so fast|true|good|ok|okay|a chance|one bit
    |in the least|anymore|any more|interested|it|this|sure|what i \w+)|absolutely not|definitely not|certainly not
    |of course not|i don't think so|i do not think so|i think not|i guess not|i don't believe so|i'd rather not
    |i would rather not|i don't (?:want|need|like) (?:that|it|this|to|anything|anything else)|i don't|i do not|i won't
    |(?:it|that|this)(?:'s| is) (?:not (?:it|right|correct|what i \w+)|wrong|incorrect|false|a mistake)|(?:it|that
    |this) isn't(?: right| correct| it| what i \w+)?|i'm not sure|i am not sure|i don't know|i do not know
    |please don't|don't do (?:that|it|this)|no i don't|by no means|under no circumstances|no chance
    |not in a million years|out of the question|maybe later|maybe another time|maybe not|perhaps not|perhaps later
    |not just yet|don't bother|never ever|you misunderstood(?: me)?|you got (?:it|that|me) wrong|i didn't say that
    |that's not what i \w+|heavens no|god no|hell no|heck no|oh no|don't you dare|don't even think about it"""),
)
_CANCEL_THAT = (
    r"(?: (?:the |this |that |my |our )?(?:whole )?(?:order|thing|booking|reservation|request|appointment|lot)"
    r"| all of (?:it|that|this)| that| it| this| the question| everything| all)"
)
_DROP = r"drop(?! (?:it|them|that|the \w+) off\b)"
_CANCEL = (
    (
        rf"(?:cancel|forget|stop|abort|scrap|scratch|abandon|quit|{_DROP}|discard|call off|undo|leave off|strike|nix"
        rf"|delete|end|exit|terminate){_CANCEL_THAT}?(?: (?:please|now|right now|right away|immediately|for now"
        rf"|at once))?"
    ),
    (
        rf"(?:i want to|i'd like to|i would like to|i wish to|let's|let us|please|can you|could you|can we|could we"
        rf"|you can|just|i need to|we should|i'll|i have to|better)(?: just)? (?:cancel|stop|forget|abort|scrap|quit"
        rf"|{_DROP}){_CANCEL_THAT}?"
    ),
    rf"never ?mind{_CANCEL_THAT}?|nevermind",
    rf"(?:forget|never mind|don't worry|stop) about{_CANCEL_THAT}",
    (
        r"i(?:'ve| have)? (?:just )?changed my mind|changed my mind|call (?:it|that|the whole thing) off"
        r"|let's not(?: do (?:that|it|this))?|let's leave it|i don't want (?:it|that|this)? ?any ?more|don't bother"
        r"|i take (?:it|that) back|take that back|get rid of (?:it|that)|throw (?:it|that) (?:away|out)"
    ),
)
_GOODBYE = (
    _any(r"""good ?bye?|bye|bye ?bye|bye now|good night|see you(?: later| soon| then| around| tomorrow| next time
    | again)?|see ya(?: later| soon| around)?|see ya|cya|later then|have a (?:nice|good|great|lovely|wonderful
    |pleasant) (?:day|one|evening|night|weekend|time|afternoon|morning)|have a good one|take care|talk to you (?:later
    |soon)|speak to you (?:later|soon)|talk later|speak soon|catch you later|laters|farewell|so long|until next time
    |till next time|cheerio|toodle ?oo|ta ta|ciao|adios|au revoir|tschuss|hang up(?: now| please)?
    |i'm hanging up(?: now)?|i am hanging up(?: now)?|i'll hang up(?: now)?|i'm going to hang up|end (?:the
    |this) (?:call|conversation|chat)|i have to go(?: now)?|i've got to go(?: now)?|i need to go(?: now)?
    |i must go(?: now)?|gotta go(?: now)?|i gotta go|i'm leaving(?: now)?|i should go|i better go"""),
)
_COMPLETE = (
    (
        "(?:that|this)(?:'s| is| was| will be|'ll be|'d be| would be) (?:all|everything)(?: for (?:now|today"
        "|me))?(?: (?:that )?i (?:need(?:ed)?|want(?:ed)?|had|have)(?: to (?:know|ask|say))?)?"
    ),
    "(?:that|this)(?: was| will be|'ll be|'d be| would be) it(?: for (?:now|today))?",
)
_DONE = (
    _any("""nothing else|nothing more|i'm done|i am done|we're done|i'm all set|that's it for (?:now|today)|all done
    |i'm good|i am good|i'm fine|i am fine|i'm okay"""),
)
_WHILE = r"(?: (?:a|one|just a) (?:second|sec|minute|min|moment|bit|tick|while))"
_WAIT = (
    (
        rf"(?:please )?(?:hold on|hang on|hold it|wait|wait up|hold|stand by|bear with me|give me{_WHILE}"
        rf"|just{_WHILE}|one (?:second|sec|moment|minute|tick)|a (?:second|moment|minute)|just (?:wait|hold on)"
        rf"|just (?:one )?(?:second|sec|moment|minute)|hold your horses|not so fast)(?:{_WHILE})?(?: more)?"
    ),
    (
        r"(?:i need|i'll need|i want|let me have|can i have|could i have|i just need) (?:a|one|just a|some"
        r"|a little) (?:second|sec|minute|moment|time|bit|while)(?: to (?:think|check|look)(?: about (?:it|that))?)?"
    ),
    (
        r"(?:let me|i need to|i have to|i must|i want to|i'd like to|lemme|i'll just|i'll|let's|i'm just going to"
        r"|i'm going to) (?:just )?(?:look at my \w+|look it up|have a look|(?:check|get|find|grab|ask) (?:it|that"
        r"|(?:my|the) \w+)|find out|think|check|look|see|ask)(?: about (?:it|that))?(?: for)?(?: first| again"
        r"| a (?:second|moment|minute))*"
    ),
    r"i'm (?:still )?(?:thinking|checking|looking)(?: about it| it up| for it)?|hmm+ let me think|let me think",
)
_REPEAT_THAT = r"(?: (?:that|it|this|the question|everything|all|the (?:whole )?(?:order|thing)|my order|yourself))"
_REPEAT = (
    (
        rf"repeat{_REPEAT_THAT}?(?: again)?|(?:can|could|would) you (?:please )?(?:say"
        rf"|repeat){_REPEAT_THAT}(?: again)?|say{_REPEAT_THAT} again"
    ),
    _any(
        "again|once more|one more time|pardon(?: me)?|i beg your pardon|come again|say again|what did you say"
        "|what was that|what was the question|what did you ask|read it back|i did(?:n't| not) (?:hear|catch"
        "|get) (?:that|you|it)|i couldn't hear (?:you|that)|huh|what|say what|how do you mean"
    ),
)
_HELP = (
    "help(?: me)?|i need help|(?:can|could) you help(?: me)?|what can (?:i|you) (?:say|do|ask|order|have)",
    "what are (?:my|the) (?:options|choices)",
    r"(?:what|which)(?: \w+){0,3} (?:do you have|are there|can i (?:have|choose))",
)
_RESTART = (
    _any("""(?:let's |please |can we |could we |i want to |i'd like to )?(?:start (?:over|again|anew|from scratch
    |from the beginning)|begin again|restart)(?: again)?|from the beginning|from the start|all over again
    |once more from the (?:start|beginning)"""),
)
_PERSON = (
    r"(?:(?:a|an|some|the|your|any|another) )?(?:(?:real|live|actual|human) )?(?:person|human(?: being)?|agent|operator"
    r"|representative|colleagues?|somebody|someone|anybody|anyone|people|receptionist|clerk|assistant|manager"
    r"|supervisor|staff|member of staff|customer service)(?: real| else| there| human| in person)?"
)
_HUMAN = (
    (
        r"(?:(?:can|could|may) (?:i|we)|(?:i|we)(?: would|'d)? (?:rather |really |just )?(?:want|like|need|prefer|have"
        r"|wish) to|let me|i'd rather|i must)(?: please| just| maybe| perhaps)? (?:speak|talk)(?: to| with)"
        rf" {_PERSON}"
    ),
    (
        r"(?:please |just |can you |could you |would you )*(?:connect|put|transfer|pass|hand)(?: me| us)?(?: through"
        rf"| over| on)? (?:to|with) {_PERSON}"
    ),
    rf"(?:please )?(?:get|give|send|find) me {_PERSON}",
    r"(?:a|an) (?:real |live |actual )?(?:human(?: being)?|person|operator|agent|representative)",
    rf"is there {_PERSON} (?:i|we) (?:can|could) (?:speak|talk) (?:to|with)",
)
_ROBOT = (
    (
        r"(?:are you|am i (?:talking|speaking) (?:to|with)|is this)(?: even| really| just)? (?:a |an )?(?:real |actual"
        r" |live )?(?:robot|bot|machine|computer|human(?: being)?|person|recording|program|ai|answering machine"
        r"|man|woman)(?: or(?: a| an)? \w+)?"
    ),
    r"who am i (?:talking|speaking) (?:to|with)",
)
_SUMMARY = (
    r"what (?:did|have) (?:i|we) (?:say|said|tell you|told you|got|have)(?: so far)?",
    r"what (?:did|have) you (?:got|have|note|noted|understood|written)(?: down)?(?: so far)?",
    r"what do (?:you|we) have(?: so far)",
    r"where (?:are|were) we|(?:can|could) you sum(?: that| it)? up",
)
_BACK = (r"(?:please |can we |can you |could we |let's |let me )?(?:go|step|one step) back(?: one)?(?: step| please)?",)
_GREETING = (
    _any("""hello(?: there)?|hi(?: there)?|hey(?: there)?|good (?:morning|afternoon|evening|day)|greetings|howdy
    |how are you(?: doing)?(?: today)?|how do you do|nice to meet you|how's it going|what's up|are you there"""),
)
_THANKS = (
    _any(r"""thanks|thank you|thank you (?:very )?much|you too|same to you|thank you so much|thanks a lot
    |thanks (?:so|very) much|thanks anyway|thanks you|thank you for (?:the|your) \w+|many thanks|much appreciated
    |cheers|ta|very kind|that's (?:very )?kind(?: of you)?|very nice of you|i appreciate (?:it|that)|you're welcome
    |thanks for your help"""),
)
_FILLER = (
    _any(r"""(?:to|for|from|by|with) (?:me|us)|on all counts|in all respects|in every way|(?:to|on
    |with) (?:all of (?:that|it|this)|everything|that|it|this)|as is|(?:this|that) one|myself|please|um+|uh+|uhm|erm?
    |err|hmm?|hm+|er|eh|ah+|oh+|ooh|wow|well|so|and|then|now then|sorry|excuse me|you know|i mean|like|just|really
    |honestly|frankly|to be honest|i must say|i have to say|ha|lol|actually|basically|too|also|as well|anyway
    |if you (?:would|could|please|don't mind)|if you want|if possible|sir|madam|ma'am|miss|mate|man|dude|buddy|pal
    |my friend|friend|dear|love|honey|darling|guys|bro|folks|everyone|i think|i believe|i guess|i suppose|i reckon
    |i'd say|i would say|i'm pretty sure|i'm sure|i am sure|pretty sure|as far as i know|as far as i can tell
    |as far as i can see|to the best of my knowledge|yes i think|for the record|in fact|in that case|from my side
    |with that|on that note|for now|ever so much|so much|kindly|all|good job|well done|good work"""),
)
_PATTERNS = (
    (Kind.GOODBYE, _GOODBYE),
    (Kind.CANCEL, _CANCEL),
    (Kind.WAIT, _WAIT),
    (Kind.NO, _NO_WHOLE),
    (Kind.NO, _NO),
    (Kind.HUMAN, _HUMAN),
    (Kind.ROBOT, _ROBOT),
    (Kind.SUMMARY, _SUMMARY),
    (Kind.BACK, _BACK),
    (Kind.RESTART, _RESTART),
    (Kind.REPEAT, _REPEAT),
    (Kind.HELP, _HELP),
    (Kind.COMPLETE, _COMPLETE),
    (Kind.YES, _YES),
    (Kind.ACT, _ACT),
    (Kind.DONE, _DONE),
    (Kind.GREETING, _GREETING),
    (Kind.THANKS, _THANKS),
    (Kind.FILLER, _FILLER),
)
"""Of phrases that are equally long the first counts, so that what denies comes before what agrees."""
_COMPILED = tuple((kind, re.compile(rf"(?:{text})(?= |$)")) for kind, texts in _PATTERNS for text in texts)


# fmt: off
_CONTRACTIONS = (
    "aren't", "can't", "couldn't", "didn't", "doesn't", "don't", "i'm", "i've", "isn't", "it'll", "it's", "let's",
    "shouldn't", "that'll", "that's", "there's", "they're", "wasn't", "what's", "won't", "wouldn't", "you're", "you've",
)
# fmt: on
_WITH_APOSTROPHE = {word.replace("'", ""): word for word in _CONTRACTIONS}
"""As people type them: "thats"."""


def read_phrases(words: Sequence[Word]) -> tuple[Phrase, ...]:
    """Divide a turn into phrases of the grammar and unread words."""
    language = spoken_language()
    if language is not None:
        return _read(tuple(word.text for word in words), language.code)
    return _read(tuple(_WITH_APOSTROPHE.get(word.text, word.text) for word in words), ENGLISH)


@lru_cache(8)
def _patterns_of(code: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """Return the patterns of a language, in the order of the English ones."""
    language = language_of(code)
    if language is None:
        return _COMPILED
    kinds = dict.fromkeys(kind for kind, _ in _PATTERNS)
    return tuple(
        (kind, re.compile(rf"(?:{text})(?= |$)")) for kind in kinds for text in language.phrases.get(kind.value, ())
    )


@lru_cache(64)
def _read(words: tuple[str, ...], code: str) -> tuple[Phrase, ...]:
    if len(words) > MAX_WORDS:
        return (Phrase(Kind.UNREAD, 0, len(words)),)
    text, starts, length = " ".join(words), list[int](), 0
    for word in words:
        starts.append(length)
        length += len(word) + 1
    phrases: list[Phrase] = []
    patterns = _patterns_of(code)
    at = 0
    while at < len(words):
        best, end = Kind.UNREAD, starts[at] + len(words[at])
        for kind, pattern in patterns:
            found = pattern.match(text, starts[at])
            if found is not None and (found.end() > end or (best is Kind.UNREAD and found.end() == end)):
                best, end = kind, found.end()
        after = bisect_left(starts, end)
        phrases.append(Phrase(best, at, after))
        at = after
    return tuple(phrases)
