/** A stretch of a file that people read, and its offset in the file. */
export interface Passage {
  at: number
  text: string
}

/** Paths that a word is limited to, or excluded from. */
interface Limits {
  only?: RegExp
  not?: RegExp
  /** Strings may have it. */
  inComments?: true
}

const APP = /^gateway\/dashboard\//
const CODE = /^(?:gateway|shared|cloud-sync|scripts)\//

/** Words that only readers of this project would understand, with the standard terms. */
const PRIVATE_WORDS: readonly [word: string, pattern: RegExp, write: string, limits?: Limits][] = [
  ['told', /\b(?:told|tells?|telling|untold)\b/gi, 'sent, notified, published, reported'],
  ['said', /\b(?:said|says|saying)\b(?! yes\b)/gi, 'reported, states'],
  ['heard', /\b(?:heard|unheard|hears?)\b/gi, 'received, last seen'],
  ['whoever', /\b(?:whoever|whosoever|whomever)\b/gi, 'the caller, the client'],
  ['somebody', /\b(?:somebody|someone|anybody|everybody)\b/gi, 'a user, staff, the driver'],
  ['nobody', /\bnobody\b/gi, 'no user, no client, none'],
  ['anew', /\banew\b/gi, 'again, from scratch'],
  ['beside', /\bbeside\b/gi, 'next to, alongside'],
  ['behind it', /\b(?:comes?|came|waits?|stands?|stood|goes|written|sent|put) behind\b/gi, 'after, queued after'],
  ['of it', /\bof it\b(?!s)/gi, 'its'],
  [
    'is to',
    /\b(?:is|are|was|were) (?:still )?to (?:be |get |go |do )?(?!(?:the|an?|its?|th\w+|wh\w+|all|each|one)\b)[a-z]/gi,
    'must, will, should',
  ],
  ['aside', /\baside\b/gi, 'quarantined, detached, archived'],
  ['calm', /\bcalm(?:ly)?\b/gi, 'unchanged, idle'],
  [
    'at once',
    /(?<!\b(?:all|many|most|more|less|several|both|any|one|two|three|\d[\d,.]*)\b[^.;:\n]{0,40})\bat once\b/gi,
    'immediately, at the same time',
  ],
  ['for ever', /\bfor (?:ever|good)\b/gi, 'permanently'],
  ['all the same', /\ball the same\b/gi, 'anyway'],
  ['but for', /\bbut for\b/gi, 'except'],
  ['void', /\b(?:is|are|was|were|becomes?) void\b/gi, 'invalid, revoked'],
  ['is none', /\b(?:is|are) none\b/gi, 'does not count, does not exist'],
  ['is no', /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b)/gi, 'is not a'],
  ['is another', /\b(?:is|are) another\b/gi, 'differs, has changed'],
  ['by itself', /\bby (?:itself|themselves)\b/gi, 'automatically'],
  ['go on', /\b(?:goes|go|went|going) on\b/gi, 'continue'],
  ['come apart', /\b(?:comes?|came|taken?|takes) apart\b/gi, 'split, decompose'],
  ['mend', /\bmend(?:s|ed|ing|er)?\b/gi, 'repair'],
  ['look', /\b(?:an?|each|one|the|every|last|next|first|this) look\b/gi, 'evaluation, check', { not: APP }],
  ['beat', /\b(?:heart)?beats?\b/gi, 'tick'],
  ['turn', /\b(?:an?|the|its|whose|maintenance|their|one) turns?\b(?! (?:on|off))/gi, 'lock, slot, event-loop tick'],
  ['neighbour', /\bneighbours?\b/gi, 'noisy client, adjacent', { not: /^shared\/(?:zones|trips|course)\// }],
  ['door', /\bdoors?\b/gi, 'listener, port'],
  ['sign', /\b(?:machine|the|a|which|no) signs?\b(?! of life|-in)/gi, 'identifier', { not: APP }],
  ['ground', /\bgrounds?\b/gi, 'context, base map'],
  ['held lock', /\bheld locks?\b/gi, 'pending lock'],
  ['draft', /\bdrafts?\b/gi, 'next state', { only: /^gateway\/(?:services|store)\/|^AGENTS\.md$/ }],
  ['head office', /\bhead office\b/gi, 'hub', { only: CODE, not: APP, inComments: true }],
  ['gone by', /\b(?:gone by|puts? down|errs?|obey(?:s|ed)?)\b/gi, 'elapsed, queued, is wrong, executed'],
  ['takes for', /\b(?:takes?|took|taken) (?:it |them |[a-z]+ )?for (?:an?|the|one)\b/gi, 'treats as, mistakes for'],
  ['is said', /\b(?:be|been|being) said\b/gi, 'reported'],
  ['what is', /\bwhat (?:is|are)\b/gi, 'the noun'],
  ['such that', /\bsuch that\b/gi, 'so that'],
  ['as it came', /\bas (?:it|they) came\b/gi, 'unchanged'],
]

/** Texts for staff and golfers, which have a vocabulary of their own, and this list. */
const HAS_OTHER_WORDS = [
  /^gateway\/dashboard\/texts\//,
  /^gateway\/services\/(?:notifications\/texts|recall\/recall)\.ts$/,
  /^gateway\/api\/trust\/texts\.ts$/,
  /^scripts\/check\/house\/prose\.ts$/,
]

/** Files that may have one of the words. */
const EXCEPTIONS: readonly [path: string, word: string, reason: string][] = [
  ['DECISIONS.md', 'beat', 'the term of Aedes'],
  ['gateway/broker/aedes-internals.ts', 'beat', 'the term of Aedes'],
  ['gateway/api/documents/messages.ts', 'gone by', 'err is a field of device messages'],
  ['shared/wire/system.ts', 'mend', 'a released value of the API'],
  ['shared/wire/replication/rebuild.ts', 'anew', 'a text that released hubs compare'],
  ['scripts/bench/history/neighbours.ts', 'neighbour', 'the name of a scenario'],
  ['scripts/bench/broker/neighbours.ts', 'neighbour', 'the name of a scenario'],
  ['scripts/bench/reports/reports.ts', 'neighbour', 'the name of a scenario'],
  ['scripts/torture/neighbours/neighbours.ts', 'neighbour', 'the name of a scenario'],
  ['scripts/release/check/executable/neighbour.ts', 'neighbour', 'the name of a program'],
]

const hasOtherWords = (path: string) => HAS_OTHER_WORDS.some((other) => other.test(path))

const QUOTED =
  /```[\s\S]*?```|`[^`\n]*`|“[^”]*”|"[^"\n]{1,160}"|https?:\/\/\S+|\b[\w-]+\/[\w./-]+|\b\w+_\w+\b|biome-ignore.*/g

const OPENING = /^\/\*\*[\s*]*(?:What|Whether|How|Of|By|One|Whose)\b/

/** False for most files, which have neither these words nor such docstrings and need not be parsed. */
export const hasProseFindings = (path: string, text: string) =>
  (!hasOtherWords(path) && PRIVATE_WORDS.some(([, pattern]) => text.search(pattern) >= 0)) ||
  /\/\*\*[\s*]*(?:What|Whether|How|Of|By|One|Whose)\b/.test(text)

/** Private words in a passage of a file, except in quotes, code, paths, and names with underscores. */
export function wordsIn(path: string, { at, text }: Passage): { word: string; write: string; at: number }[] {
  if (hasOtherWords(path)) return []
  const isComment = /^\/[/*]/.test(text)
  const applies = (word: string, { only, not, inComments }: Limits) =>
    (isComment || inComments !== true) &&
    only?.test(path) !== false &&
    not?.test(path) !== true &&
    !EXCEPTIONS.some(([file, except]) => file === path && except === word)
  const prose = text.replaceAll(QUOTED, (quoted) => quoted.replaceAll(/[^\n]/g, '_'))
  return PRIVATE_WORDS.filter(([word, , , limits = {}]) => applies(word, limits)).flatMap(([word, pattern, write]) =>
    [...prose.matchAll(pattern)].map(({ index }) => ({ word, write, at: at + index })),
  )
}

/** A docstring names its subject or begins with a verb. */
export const isOpenedByQuestion = ({ text }: Passage) => OPENING.test(text)

/** True for sentences; false for keys, paths and SQL. */
export const isSentence = (text: string) =>
  /[a-z]{2,} [a-z]/i.test(text) && !/\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|PRAGMA|VALUES|AND)\b/.test(text)
