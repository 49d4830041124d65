/** Severity of a finding: only `wrong` makes `cartbarn doctor` exit with 1. */
type Level = 'ok' | 'mind' | 'wrong'

export interface Finding {
  /** Subject, one or two words. */
  about: string
  level: Level
  says: string
  /** Command to type, or other action to take. */
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

export function lineOf({ about, level, says, todo }: Finding): string {
  const line = `${level.padEnd(5)}  ${about.padEnd(12)} ${says}${todo === undefined ? '' : `: ${todo}`}`
  return line.replaceAll(/\s*\n\s*/g, '; ')
}
