/** A stretch of a file that people read, and where it begins in it. */
export interface Passage {
  at: number
  text: string
}

/** Words of our own for which the field has others. Their uses may only become fewer. */
const WORDS: readonly [word: string, pattern: RegExp][] = [
  ['told', /\b(?:told|untold|tells?|telling)\b/gi],
  ['whoever', /\b(?:whoever|whosoever|whomever)\b/gi],
  ['nobody', /\bnobody\b/gi],
  ['somebody', /\b(?:somebody|someone|anybody|everybody)\b/gi],
  ['anew', /\banew\b/gi],
  ['beside', /\bbeside\b/gi],
  ['is said', /\b(?:is|are|was|were|be|been) said\b/gi],
  ['what is', /\bwhat (?:is|are)\b/gi],
  ['of it', /\bof it\b(?!s)/gi],
  ['such that', /\bsuch that\b/gi],
  ['as it came', /\bas (?:it|they) came\b/gi],
]

const OPENING = /^\/\*\*[\s*]*(?:What|Whether|How|Of|By|One|Whose)\b/

/** False for most files, which have neither these words nor such docstrings and need not be parsed. */
export const hasProseFindings = (text: string) =>
  WORDS.some(([, pattern]) => text.search(pattern) >= 0) ||
  /\/\*\*[\s*]*(?:What|Whether|How|Of|By|One|Whose)\b/.test(text)

/** Uses of each of the words in a passage, without quoted code. */
export function wordsIn({ at, text }: Passage): { word: string; at: number }[] {
  const prose = text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, (code) => '_'.repeat(code.length))
  return WORDS.flatMap(([word, pattern]) => [...prose.matchAll(pattern)].map(({ index }) => ({ word, at: at + index })))
}

/** A docstring names its subject or begins with a verb. */
export const isOpenedByQuestion = ({ text }: Passage) => OPENING.test(text)

/** True for sentences; false for keys, paths and SQL. */
export const isSentence = (text: string) =>
  /[a-z]{2,} [a-z]/i.test(text) && !/\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|PRAGMA|VALUES|AND)\b/.test(text)
