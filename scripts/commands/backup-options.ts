import { CommandError, type CommandIo, pathFrom, UsageError } from '#scripts/cli/command.ts'
import { createCommandLine } from '#scripts/cli/command-line.ts'
import { ConfigError, describeError } from '#shared/errors.ts'
import { readSecretFile } from '#shared/files/secret-files.ts'

/** Creates the options of commands that write or read backups. */
export function createBackupCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--data <dir>', 'the data folder [CARTBARN_DATA_DIR]')
    .option('--passphrase-file <file>', 'a file with the passphrase it is, or was, encrypted with')
    .option('--config <file>', 'settings from a JSON file; the environment wins')
    .option('--quiet', 'no progress')
}

/** Returns the passphrase in a file, or undefined without one. Throws `UsageError`. */
export function passphraseIn(file: string | undefined, io: Pick<CommandIo, 'folder'>): string | undefined {
  if (file === undefined) return undefined
  try {
    return readSecretFile(pathFrom(io, file))
  } catch (error) {
    throw new UsageError(`--passphrase-file: ${describeError(error)}`)
  }
}

/** Returns the result of the work; turns a fault into a `CommandError` with its message, followed by `more`. */
export async function inWords<T>(work: () => Promise<T>, more = ''): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConfigError || error instanceof UsageError) throw error
    throw new CommandError(`${describeError(error)}${more}`, { cause: error })
  }
}

/** Formats a size: 1,234 MB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: bytes < 1e7 ? 1 : 0 })} MB`
}
