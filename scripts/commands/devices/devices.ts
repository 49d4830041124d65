import { EXIT, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { addDevices } from './add.ts'

/** `cartbarn devices add FILE`: registers the devices of a list from a spreadsheet. */
export const devices: RunCommand = (argv, io) => {
  if (argv[0] === 'add') return addDevices(argv.slice(1), io)
  return runCommand('devices', io, async () => {
    const command = createCommandLine('devices', io).description('Registers devices at a running gateway.')
    command.command('add <file>').description('register or change the devices of a CSV file')
    parseCommandLine(command, argv.length === 0 ? ['--help'] : argv)
    return EXIT.ok
  })
}
