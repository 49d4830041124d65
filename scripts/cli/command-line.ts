import { Command, CommanderError, InvalidArgumentError } from '@commander-js/extra-typings'
import { type CommandIo, UsageError } from './command.ts'

/** Creates the options of one command, to be chained and then passed to `parseCommandLine`. */
export function createCommandLine(name: string, io: Pick<CommandIo, 'env' | 'stdout'>) {
  return new Command(typedAs(name, io.env))
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: () => undefined })
    .helpOption('--help', 'print this page')
    .helpCommand(false)
}

/** Returns the text that calls a command, before its options: npm hides the name of the program. */
function typedAs(name: string, { npm_lifecycle_event: event }: CommandIo['env']): string {
  const [command, ...words] = name.split(' ')
  const isRun = event === 'start' && (command === 'run' || command === 'demo')
  const script = isRun ? 'npm start --' : `npm run ${event} --`
  return [isRun || event?.replace(':', '-') === command ? script : `cartbarn ${command}`.trimEnd(), ...words].join(' ')
}

/** Formats a page of settings, to be printed after the options. */
export function settingsHelp(
  from: string,
  settings: readonly { name: string; defaultValue: string; help: string }[],
): string {
  const width = Math.max(...settings.map(({ name }) => name.length)) + 2
  const lines = settings.map(({ name, defaultValue, help }) => `  ${name.padEnd(width)}${help} [${defaultValue}]`)
  return `\nSettings (${from}):\n${lines.join('\n')}`
}

/** Parses a command line. Throws `UsageError`; if help is requested, writes the help and throws a `CommanderError`. */
export function parseCommandLine<Parsed>(
  command: { parse(argv: readonly string[], options: { from: 'user' }): Parsed },
  argv: readonly string[],
): Parsed {
  try {
    return command.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error
    if (error.code === 'commander.help') throw new UsageError('a command is needed')
    throw new UsageError(error.message.replace(/^error: /, '').replace('\n', ' '))
  }
}

/** Returns a parser of a whole number in an option. */
export function wholeNumber(low: number, high = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = high === Number.MAX_SAFE_INTEGER ? `${low} or more` : `from ${low} to ${high}`
  return (text) => {
    if (/^-?\d+$/.test(text) && Number(text) >= low && Number(text) <= high) return Number(text)
    throw new InvalidArgumentError(`It must be a whole number ${range}.`)
  }
}

/** Returns a parser of a number in an option. */
export function number(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (value >= low && value <= high) return value
    throw new InvalidArgumentError(`It must be a number from ${low} to ${high}.`)
  }
}

/** Returns a parser of an address, which removes a slash at the end. */
export function address(...protocols: readonly string[]): (text: string) => string {
  return (text) => {
    const url = URL.parse(text)
    if (url !== null && protocols.includes(url.protocol)) return url.href.replace(/\/+$/, '')
    throw new InvalidArgumentError(`It must be an address such as ${protocols[0]}//127.0.0.1.`)
  }
}

/** Returns a parser of a text that matches; `words` describe what it must be. */
export function matching(pattern: RegExp, words: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text
    throw new InvalidArgumentError(`It must be ${words}.`)
  }
}
