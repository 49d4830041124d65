/** How bad a finding is: only `wrong` makes `cartbarn doctor` end with 1. */
type Level = 'ok' | 'mind' | 'wrong'

/** One thing that was looked at. */
export interface Finding {
  /** A word or two. */
  about: string
  level: Level
  /** What was found, in words. */
  says: string
  /** What to type or do. */
  todo?: string
}

export const ok = (about: string, says: string): Finding => ({ about, level: 'ok', says })
export const warning = (about: string, says: string, todo: string): Finding => ({
  about,
  level: 'mind',
  says,
  todo,
})
export const failure = (about: string, says: string, todo: string): Finding => ({
  about,
  level: 'wrong',
  says,
  todo,
})

/** A finding as one line. */
export function lineOf({ about, level, says, todo }: Finding): string {
  const line = `${level.padEnd(5)}  ${about.padEnd(12)} ${says}${todo === undefined ? '' : `: ${todo}`}`
  return line.replaceAll(/\s*\n\s*/g, '; ')
}
