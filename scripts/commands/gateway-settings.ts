import { type Config, describeSettings, readConfig } from '#gateway/config.ts'
import { type CommandIo, pathFrom } from '#scripts/cli/command.ts'
import { createCommandLine, settingsHelp } from '#scripts/cli/command-line.ts'

/** Creates the options of a command that reads the settings of the gateway. */
export function createSettingsCommandLine(name: string, io: CommandIo) {
  return createCommandLine(name, io)
    .option('--config <file>', 'settings from a file, as NAME=value lines or JSON; the environment wins')
    .addHelpText('after', settingsHelp('the environment, or the same names in the file', describeSettings()))
}

/** Reads the settings of a gateway: those of the service, unless a file is given. Throws `ConfigError`. */
export function readSettings(file: string | undefined, io: CommandIo): Config {
  return readNamedSettings(file ?? (io.env.CARTBARN_CONFIG || undefined), io)
}

/** Reads the settings of a gateway that is not the service. Throws `ConfigError`. */
export function readNamedSettings(file: string | undefined, io: CommandIo): Config {
  return readConfig(io.env, file === undefined ? undefined : pathFrom(io, file))
}
