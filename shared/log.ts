import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { journalPrefix } from '#shared/service/journal.ts'

/** Structured log: `log.info({ hardwareId }, 'connected')`; fields, not sentences. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

const SECRET_FIELDS = ['api_key', 'apiKey', 'password', 'key', 'token', 'code', 'authorization']

/** File descriptor of standard output. */
const OUTPUT = 1
/** `level` is the first field of each line; see `createLog`. */
const LEVEL = /^\{"level":"(\w+)"/

/** Log of a program on standard output: readable lines on a terminal, JSON otherwise, with priorities for a journal. */
export async function createProgramLog(level: LogLevel, isTerminal: boolean, journalStream?: string): Promise<Log> {
  if (!isTerminal) return createLog(level, destinationFor(journalPrefix(OUTPUT, journalStream)))
  const { default: pretty } = await import('pino-pretty')
  return createLog(level, pretty({ colorize: true, singleLine: true, translateTime: 'SYS:HH:MM:ss.l', sync: true }))
}

function destinationFor(prefixOf: ((level: string) => string) | undefined): DestinationStream | undefined {
  if (prefixOf === undefined) return undefined
  const output = pino.destination(OUTPUT)
  return { write: (line) => output.write(prefixOf(LEVEL.exec(line)?.[1] ?? '') + line) }
}

/** Writes JSON lines to `destination`, by default standard output. Fields that look like a secret are redacted. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}
