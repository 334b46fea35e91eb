"""Sentence generator: one action of a home said as an order, a question, a statement or a report, also negated.

The sentences teach forms, not wishes: every frame is filled with every action, so that no kind goes with a verb.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

SUBJECTS = (
    *("i", "we", "you", "they", "my sister", "my brother", "mum", "dad", "my wife", "my husband", "the kids", "anna"),
    *("paul", "the neighbour", "my boss", "a friend of mine", "somebody", "someone", "the cleaner", "our guest"),
    *("he", "she", "my flatmate", "the babysitter", "everybody"),
)
_TIMES_BEFORE = (
    *("yesterday", "last night", "this morning", "an hour ago", "on monday", "last week", "already", "before lunch"),
    *("earlier today", "by mistake", "two days ago", "when we came home", "at noon", "in the summer", "in the end"),
)
_TIMES_AFTER = ("tomorrow", "later", "tonight", "next week", "at nine", "in the evening", "on saturday", "soon")
_TIMES_USUAL = ("every morning", "on sundays", "every day", "at night", "after dinner", "once a week")
_SAYERS = ("he", "she", "my mother", "dad", "the doctor", "my boss", "ben", "they", "my wife", "the landlord")
_THINGS = (
    *("lights", "lamps", "speakers", "sockets", "alarms", "meetings", "emails", "tickets", "plugs", "songs", "trains"),
)
_THING = (
    *("light", "lamp", "radio", "heater", "alarm", "music", "vacuum", "coffee machine", "plug", "meeting", "taxi"),
    *("email", "song", "podcast", "list", "pizza", "order", "ticket", "film", "news", "volume", "reminder", "socket"),
    *("train", "weather", "game", "audiobook", "playlist", "concert", "traffic"),
)
_PLACES = ("in the kitchen", "upstairs", "in the hall", "outside", "in the bedroom", "downstairs", "here", "in here")
_STATES = (
    *("on", "off", "too loud", "broken", "ready", "very bright", "late", "on the table", "set for seven", "full"),
    *(
        "quiet",
        "finished",
        "expensive",
        "green",
        "at fifty percent",
        "still on",
        "already off",
        "cold",
        "dirty",
        "nice",
    ),
)
_ENDINGS = ("cancelled", "switched off", "turned on", "moved", "deleted", "ordered", "sent", "booked", "changed")


@dataclass(frozen=True, slots=True)
class Action:
    """An action: base form, past tense, participle and gerund of its verb, and what follows the verb."""

    base: str
    past: str
    participle: str
    gerund: str
    rest: str


def _actions(forms: str, *rests: str) -> tuple[Action, ...]:
    base, past, participle, gerund = forms.split("/")
    return tuple(Action(base, past, participle, gerund, rest) for rest in rests)


ACTIONS = (
    *_actions(
        "turn/turned/turned/turning",
        *("on the lights", "the lights off", "off the radio", "the heater on", "up the volume", "it down", "it off"),
        *("off the lights in the kitchen", "them on", "the lights blue", "the music up", "the lamp in the hall on"),
    ),
    *_actions("switch/switched/switched/switching", "on the lamp", "off the plug", "the fan off", "on the socket"),
    *_actions("dim/dimmed/dimmed/dimming", "the lights", "the bedroom lamp", "the lights to ten percent"),
    *_actions("play/played/played/playing", "some jazz", "my playlist", "that song", "a game of chess", "the news"),
    *_actions("play/played/played/playing", "the radio", "an audiobook", "the last podcast", "queen"),
    *_actions("set/set/set/setting", "an alarm for six", "the alarm", "a reminder for friday", "the lights to red"),
    *_actions("wake/woke/woken/waking", "me up at seven", "me early", "us at half past five"),
    *_actions("call/called/called/calling", "a taxi", "me a cab", "an uber to the airport", "the restaurant"),
    *_actions("book/booked/booked/booking", "a train ticket", "two tickets to paris", "a table", "a ride"),
    *_actions("order/ordered/ordered/ordering", "a pizza", "some sushi", "dinner from luigi's"),
    *_actions("add/added/added/adding", "milk to the list", "eggs to my shopping list", "him to my contacts"),
    *_actions("remove/removed/removed/removing", "the bread from the list", "my alarm", "that event"),
    *_actions("delete/deleted/deleted/deleting", "the list", "my appointment", "that email"),
    *_actions("cancel/cancelled/cancelled/cancelling", "the meeting", "my dentist appointment", "the order"),
    *_actions("send/sent/sent/sending", "an email to ben", "him a message", "the picture to mum"),
    *_actions("write/wrote/written/writing", "to grandma", "an email", "a tweet about it"),
    *_actions("make/made/made/making", "coffee", "me an espresso", "it brighter", "the room darker", "a new list"),
    *_actions("start/started/started/starting", "the vacuum", "the robot", "the coffee machine", "a game"),
    *_actions("stop/stopped/stopped/stopping", "the music", "the vacuum", "the podcast", "talking"),
    *_actions("mute/muted/muted/muting", "the speakers", "the sound", "it"),
    *_actions("lower/lowered/lowered/lowering", "the volume", "the music", "the brightness"),
    *_actions("raise/raised/raised/raising", "the volume", "the lights"),
    *_actions("vacuum/vacuumed/vacuumed/vacuuming", "the living room", "the carpet", "upstairs"),
    *_actions("clean/cleaned/cleaned/cleaning", "the kitchen floor", "the stairs"),
    *_actions("post/posted/posted/posting", "it on facebook", "a picture", "that on twitter"),
    *_actions("read/read/read/reading", "my emails", "the headlines", "me the list", "the next chapter"),
    *_actions("put/put/put/putting", "the radio on", "butter on the list", "the meeting in my calendar"),
    *_actions("change/changed/changed/changing", "the colour of the lights", "the song", "the light to green"),
    *_actions("save/saved/saved/saving", "this song", "that number"),
    *_actions("tell/told/told/telling", "me a joke", "us the weather", "him the time"),
    *_actions("give/gave/given/giving", "me more light", "us the recipe", "the song five stars"),
    *_actions("check/checked/checked/checking", "the traffic", "my calendar", "the stock price"),
    *_actions("remind/reminded/reminded/reminding", "me of the party", "us to call dad"),
    *_actions("skip/skipped/skipped/skipping", "this song", "the next track"),
    *_actions("bring/brought/brought/bringing", "up the recipe", "the lights up"),
    *_actions("find/found/found/finding", "a good restaurant", "the train to leeds", "my list"),
    *_actions("show/showed/shown/showing", "me my alarms", "us the photos"),
    *_actions("open/opened/opened/opening", "the playlist", "my contacts"),
    *_actions("repeat/repeated/repeated/repeating", "the song", "what you said"),
    *_actions("shuffle/shuffled/shuffled/shuffling", "my songs"),
    *_actions("buy/bought/bought/buying", "the ticket", "two seats"),
    *_actions("answer/answered/answered/answering", "the email", "paul"),
    *_actions("get/got/got/getting", "me a taxi", "tickets for the concert", "the latest news"),
    *_actions("take/took/taken/taking", "the milk off the list"),
    *_actions("increase/increased/increased/increasing", "the brightness", "the volume by ten"),
)

_POLITE = (
    *("could you {base}", "can you {base}", "would you {base}", "will you {base}", "would you mind {gerund}"),
    *(
        "do you mind {gerund}",
        "i'd like you to {base}",
        "i want you to {base}",
        "i need you to {base}",
        "please {base}",
    ),
    *("don't forget to {base}", "please don't forget to {base}", "remember to {base}", "make sure to {base}"),
    *("why don't you {base}", "why not {base}", "can't you {base}", "couldn't you {base}", "won't you {base}"),
    *("how about {gerund}", "what about {gerund}", "let's {base}", "go ahead and {base}", "be so kind as to {base}"),
    *("i was wondering if you could {base}", "i would appreciate it if you would {base}", "you can {base} now"),
    *("it would be nice if you {past}", "do me a favour and {base}", "you should {base}", "i'd love you to {base}"),
    *("could you please {base}", "can you please {base}", "would you be able to {base}", "are you able to {base}"),
    *(
        "is it possible to {base}",
        "any chance you could {base}",
        "do you think you could {base}",
        "may i ask you to {base}",
    ),
    *("don't hesitate to {base}", "feel free to {base}", "you may {base}", "try to {base}", "it's time to {base}"),
    *("i think you should {base}", "i'd be happy if you {past}", "just {base}", "now {base}", "okay {base}"),
    *("if you don't mind {base}", "when you can {base}", "i told you to {base} so do it", "never mind that, {base}"),
    *("don't stop there, {base}", "not now, {base} later", "i don't care how, {base}", "it's late, {base}"),
)
_BARE = ("{base}",)
_GOODS = (
    *("a coffee", "a large pizza", "two tickets", "some jazz", "the lights on", "more light", "a taxi", "the news"),
    *("a medium latte with milk", "a table for two", "an alarm at six", "the volume up", "a small tea", "the radio on"),
    *("a twelve ounce mocha with a little sugar", "some help", "a reminder", "a green light", "my list", "a ride"),
)
_ASKING_FOR = (
    *("can i have {good}", "could i have {good}", "may i have {good}", "can i get {good}", "could we get {good}"),
    *(
        "can we have {good}",
        "i'll have {good}",
        "i would like {good}",
        "i want {good}",
        "i need {good}",
        "may i get {good}",
    ),
    *(
        "give me {good}",
        "let me have {good}",
        "i'd love {good}",
        "i'll take {good}",
        "could you get me {good}",
        "{good}",
    ),
)
_ORDERS_WITH_REASON = (
    *("if it rains {base}", "when i get home {base}", "{base} if nobody is home", "{base} unless it is sunday"),
    *("after the game {base}", "{base} before you go", "since it is late {base}", "i can't sleep, {base}"),
    *("i don't like it, {base}", "{base} because i can't hear you", "{base} that you have not done yet"),
)
_ORDERS_NOT = (
    *(
        "don't {base}",
        "do not {base}",
        "please don't {base}",
        "never {base}",
        "please do not {base}",
        "don't you {base}",
    ),
    *("can you not {base}", "could you please not {base}", "would you mind not {gerund}", "please never {base}"),
    *("i don't want you to {base}", "i'd rather you didn't {base}", "you must not {base}", "you shouldn't {base}"),
    *("you don't have to {base}", "you don't need to {base}", "there's no need to {base}", "no need to {base}"),
    *(
        "don't bother {gerund}",
        "let's not {base}",
        "no, don't {base}",
        "make sure you don't {base}",
        "wait, don't {base}",
    ),
    *("i would prefer that you don't {base}", "try not to {base}", "avoid {gerund}", "under no circumstances {base}"),
    *("whatever you do don't {base}", "just don't {base}", "don't ever {base}", "i do not want you to {base}"),
    *("you are not to {base}", "be careful not to {base}", "if i am out don't {base}", "don't {base} when i sleep"),
    *(
        "make sure not to {base}",
        "refrain from {gerund}",
        "you needn't {base}",
        "stop, don't {base}",
        "it's late, don't {base}",
    ),
)
_QUESTIONS = (
    *("did {subject} {base}", "did {subject} {base} {before}", "has he {participle}", "have you {participle}"),
    *("who {past}", "who {past} {before}", "when did {subject} {base}", "why did {subject} {base}", "how do i {base}"),
    *(
        "how can i {base}",
        "should i {base}",
        "what happens if i {base}",
        "what if i {base}",
        "do you know how to {base}",
    ),
    *("does {sayer} {base} {usual}", "will {sayer} {base} {after}", "is {sayer} {gerund}", "are you {gerund}"),
    *(
        "were you {gerund}",
        "how long does it take to {base}",
        "how much does it cost to {base}",
        "am i allowed to {base}",
    ),
    *("what is the best way to {base}", "do i have to {base}", "must i {base}", "is it a good idea to {base}"),
    *("was it you who {past}", "did you already {base}", "how often do you {base}", "would it help to {base}"),
    *("do you like {gerund}", "can children {base}", "why does {sayer} {base}", "who told you to {base}"),
    *(
        "when will {subject} {base}",
        "tell me, did you {base}",
        "i wonder, has anyone {participle}",
        "where did you {base}",
    ),
    *("had you {participle} {before}", "what does it mean to {base}", "did i ask you to {base}", "did you just {base}"),
)
_QUESTIONS_OF_THINGS = (
    *(
        "is the {thing} {state}",
        "are the {things} {state}",
        "was the {thing} {state} {before}",
        "why is the {thing} {state}",
    ),
    *(
        "where is the {thing}",
        "is there a {thing} {place}",
        "how many {things} are there",
        "which {things} are {state}",
    ),
    *(
        "what is the {thing}",
        "how is the {thing}",
        "when is the {thing}",
        "whose {thing} is this",
        "is my {thing} {state}",
    ),
    *("was the {thing} {ending}", "has the {thing} been {ending}", "will the {thing} be {ending} {after}"),
    *("does the {thing} work", "do you like the {thing}", "can the {thing} be {ending}", "who has the {thing}"),
    *(
        "the {thing} is {state}, isn't it",
        "the {thing} is {state}, right",
        "do you see the {thing}",
        "any {things} {place}",
    ),
    *("can you hear the {thing}", "can you see the {thing}", "do we have a {thing}", "what about the {thing}"),
    *(
        "how loud is the {thing}",
        "how old is the {thing}",
        "what colour is the {thing}",
        "do you know if the {thing} is {state}",
    ),
)
_QUESTIONS_NOT = (
    *(
        "why didn't {subject} {base}",
        "why don't {things} {base}",
        "didn't {subject} {base}",
        "haven't you {participle}",
    ),
    *(
        "why hasn't {sayer} {participle}",
        "who didn't {base}",
        "isn't the {thing} {state}",
        "aren't the {things} {state}",
    ),
    *("why isn't the {thing} {state}", "why are the {things} not {state}", "which {things} are not {state}"),
    *(
        "wasn't the {thing} {ending}",
        "is the {thing} not {state}",
        "are there no {things} {place}",
        "why won't the {thing} work",
    ),
    *(
        "why doesn't the {thing} work",
        "hasn't the {thing} been {ending}",
        "what should i not {base}",
        "don't you hear the {thing}",
    ),
    *("did nobody {base}", "is there no {thing} {place}", "why can't you hear me", "doesn't {sayer} {base} {usual}"),
)
_STATEMENTS = (
    *("{sayer} likes to {base} {usual}", "we {base} {usual}", "i {base} {usual}", "they {base} {usual}"),
    *("i know how to {base}", "i can {base} myself", "{gerund} is easy", "{gerund} takes an hour", "i like {gerund}"),
    *("i am {gerund}", "she is {gerund}", "we are {gerund} right now", "when i {base} the cat wakes up"),
    *("if you {base} the baby wakes up", "you {base} very well", "people who {base} are nice", "it is hard to {base}"),
    *("i love it when you {base}", "the app can {base}", "{gerund} helps me sleep"),
)
_STATEMENTS_OF_THINGS = (
    *("the {thing} is {state}", "the {things} are {state}", "my {thing} is {state}", "the {thing} {place} is {state}"),
    *("there is a {thing} {place}", "i have a {thing}", "it is {state} {place}", "i think the {thing} is {state}"),
    *(
        "i like the {thing}",
        "this {thing} is {state}",
        "that's my {thing}",
        "{sayer} has a {thing}",
        "i hear the {thing}",
    ),
    *(
        "i hope the {thing} is {state}",
        "the {thing} looks good",
        "these {things} are {state}",
        "your {thing} is {state}",
    ),
)
_STATEMENTS_NOT = (
    *("the {thing} is not {state}", "the {things} aren't {state}", "there is no {thing} {place}", "i have no {things}"),
    *("i don't like the {thing}", "my {thing} isn't {state}", "i can't see the {thing}", "i don't know how to {base}"),
    *(
        "we never {base} {usual}",
        "i do not {base} {usual}",
        "i am not {gerund}",
        "{gerund} doesn't help",
        "i can't {base}",
    ),
    *("she isn't {gerund}", "the {thing} doesn't work", "the {thing} won't start", "{sayer} never has a {thing}"),
    *(
        "nobody likes the {thing}",
        "it's not {state} {place}",
        "i don't know where the {thing} is",
        "i don't think the {thing} is {state}",
    ),
)
_REPORTS = (
    *("{subject} {past}", "{subject} {past} {before}", "{before} {subject} {past}", "i have {participle}"),
    *(
        "you have already {participle}",
        "{sayer} told me to {base}",
        "{sayer} said {base}",
        "{sayer} asked me to {base}",
    ),
    *("{sayer} wants me to {base}", "i will {base} {after}", "we are going to {base} {after}", "i was about to {base}"),
    *(
        "i would have {participle}",
        "i tried to {base}",
        "i wanted to {base}",
        "i forgot to {base}",
        "i remembered to {base}",
    ),
    *("{subject} had {participle} {before}", "i was {gerund} when you called", "i'm going to {base} myself"),
    *(
        "i'll {base} myself",
        "if i had {participle} it would be better",
        "{sayer} used to {base}",
        "{sayer} will {base} {after}",
    ),
    *(
        "{sayer} asked if you could {base}",
        "it was me who {past}",
        "i thought you {past}",
        "i saw that {subject} {past}",
    ),
    *(
        "{sayer} let the kids {base}",
        "i asked you to {base} {before}",
        "you said you would {base}",
        "after i {past} i went out",
    ),
    *(
        "{subject} just {past}",
        "i just {past}",
        "{sayer} has {participle}",
        "{sayer} offered to {base}",
        "i might {base} {after}",
    ),
)
_REPORTS_OF_THINGS = (
    *(
        "the {thing} was {ending}",
        "the {thing} was {ending} {before}",
        "the {things} were {ending}",
        "the {thing} has been {ending}",
    ),
    *(
        "the {thing} was {state} {before}",
        "the {things} were {state}",
        "my {thing} got {ending}",
        "{sayer} found the {thing}",
    ),
    *("the {thing} will be {ending} {after}", "i heard the {thing} {before}", "somebody {ending} the {thing}"),
    *(
        "{sayer} said the {thing} is {state}",
        "{sayer} asked whether the {thing} is {state}",
        "when we left the {thing} was {state}",
    ),
    *(
        "the {thing} of {sayer} was {ending}",
        "i liked the {thing}",
        "we had a {thing} {before}",
        "the {thing} came {before}",
    ),
)
_REPORTS_NOT = (
    *("{subject} didn't {base}", "{subject} never {past}", "i haven't {participle}", "i did not {base} {before}"),
    *(
        "the {thing} was not {ending}",
        "the {things} weren't {state}",
        "the {thing} hasn't been {ending}",
        "nobody {past}",
    ),
    *("{sayer} told me not to {base}", "{sayer} said don't {base}", "i won't {base} {after}", "no one {past} {before}"),
    *(
        "i never told you to {base}",
        "i couldn't {base}",
        "you haven't {participle} yet",
        "{sayer} will not {base} {after}",
    ),
    *(
        "i had not {participle}",
        "{sayer} didn't want me to {base}",
        "i didn't ask you to {base}",
        "{sayer} asked me not to {base}",
    ),
)

FRAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "command": (_POLITE, _POLITE, _BARE, _ORDERS_WITH_REASON, _ASKING_FOR),
    "command negated": (_ORDERS_NOT,),
    "question": (_QUESTIONS, _QUESTIONS_OF_THINGS),
    "question negated": (_QUESTIONS_NOT,),
    "statement": (_STATEMENTS, _STATEMENTS_OF_THINGS),
    "statement negated": (_STATEMENTS_NOT,),
    "report": (_REPORTS, _REPORTS_OF_THINGS),
    "report negated": (_REPORTS_NOT,),
}
"""Groups of frames of each section of ``contrast.txt``; the groups of one are drawn equally often."""


def generate(section: str, rng: random.Random) -> str:
    """Makes one sentence of a section of ``contrast.txt``."""
    frame = rng.choice(rng.choice(FRAMES[section]))
    action = rng.choice(ACTIONS)
    # "told to X" keeps the object where the gerund or the past would leave it.
    filled = frame.format(
        base=f"{action.base} {action.rest}",
        past=f"{action.past} {action.rest}",
        participle=f"{action.participle} {action.rest}",
        gerund=f"{action.gerund} {action.rest}",
        subject=rng.choice(SUBJECTS),
        sayer=rng.choice(_SAYERS),
        before=rng.choice(_TIMES_BEFORE),
        after=rng.choice(_TIMES_AFTER),
        usual=rng.choice(_TIMES_USUAL),
        thing=rng.choice(_THING),
        things=rng.choice(_THINGS),
        place=rng.choice(_PLACES),
        state=rng.choice(_STATES),
        ending=rng.choice(_ENDINGS),
        good=rng.choice(_GOODS),
    )
    if section == "command" and rng.random() < 0.15:
        filled = f"{filled} {rng.choice(('please', 'now', 'for me', 'again', 'tomorrow', 'at six', 'will you'))}"
    return filled
