import { runGateway } from '#gateway/main.ts'
import { type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { createSettingsCommandLine, readNamedSettings, readSettings } from './gateway-settings.ts'

/** `cartbarn run`: runs the gateway until a signal. */
export const run: RunCommand = (argv, io) =>
  runCommand('run', io, async () => {
    const command = createSettingsCommandLine('run', io)
      .description('Starts the gateway of a golf course.')
      .option('--demo', 'with a simulated course, as the command demo')
    const { demo, config } = parseCommandLine(command, argv).opts()
    if (demo) return (await import('./demo.ts')).runDemo(readNamedSettings(config, io), io)
    return runGateway(readSettings(config, io), io.signal)
  })
