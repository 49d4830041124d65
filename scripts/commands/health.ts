import { askHealth } from '#scripts/cli/ask-health.ts'
import { type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { originOf } from '#shared/http/request-local.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** `cartbarn health`: checks if the gateway of these settings is healthy. */
export const health: RunCommand = (argv, io) =>
  runCommand('health', io, () => {
    const command = createSettingsCommandLine('health', io).description(
      'Asks the gateway that runs on this machine with these settings whether it can store what devices send. ' +
        'Ends with 0 ' +
        'if so. For health checks of containers and scripts; people ask the doctor.',
    )
    const { host, httpPort, tls } = readSettings(parseCommandLine(command, argv).opts().config, io)
    return askHealth(originOf(host, httpPort, tls !== undefined), io)
  })
