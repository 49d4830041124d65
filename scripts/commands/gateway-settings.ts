import { type Config, describeSettings, readConfig } from '#gateway/config.ts'
import { type CommandIo, pathFrom, UsageError } from '#scripts/cli/command.ts'
import { createCommandLine, settingsHelp } from '#scripts/cli/command-line.ts'
import { ConfigError } from '#shared/errors.ts'

/** The options of a command that reads the settings of the gateway. */
export function createSettingsCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--config <file>', 'settings from a JSON file; the environment wins')
    .addHelpText('after', settingsHelp('the environment, or the same names in the file', describeSettings()))
}

/** Reads the settings of the gateway. Throws `UsageError`. */
export function readSettings(file: string | undefined, io: CommandIo): Config {
  try {
    return readConfig(io.env, file === undefined ? undefined : pathFrom(io, file))
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message) : error
  }
}
