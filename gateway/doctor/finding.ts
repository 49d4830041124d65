import {
  describeFinding,
  FINDINGS,
  type FindingCode,
  type FindingLevel,
  type FindingValues,
} from '#shared/wire/machine/findings.ts'

type Level = 'ok' | FindingLevel

export interface Finding {
  /** Subject, one or two words. */
  about: string
  level: Level
  message: string
  /** Command to type, or other action to take. */
  todo?: string
}

export const ok = (about: string, message: string): Finding => ({ about, level: 'ok', message })
export const warning = (about: string, message: string, todo: string): Finding => ({
  about,
  level: 'mind',
  message,
  todo,
})
export const failure = (about: string, message: string, todo: string): Finding => ({
  about,
  level: 'wrong',
  message,
  todo,
})

/** Finding that a running gateway reports too, in the same words. */
export const shared = (code: FindingCode, values: FindingValues = {}): Finding => ({
  level: FINDINGS[code].level,
  ...describeFinding(code, values),
})

export function lineOf({ about, level, message, todo }: Finding): string {
  const line = `${level.padEnd(5)}  ${about.padEnd(12)} ${message}${todo === undefined ? '' : `: ${todo}`}`
  return line.replaceAll(/\s*\n\s*/g, '; ')
}
