import { userInfo } from 'node:os'
import { packBundle } from '#gateway/doctor/bundle.ts'
import { examine } from '#gateway/doctor/examine.ts'
import { type Finding, lineOf } from '#gateway/doctor/finding.ts'
import { thisMachine } from '#gateway/doctor/machine.ts'
import { CommandError, type CommandIo, EXIT, pathFrom, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { KEY_VARIABLE, requireKey } from '#scripts/cli/gateway-options.ts'
import { describeError } from '#shared/errors.ts'
import { WholeFile } from './export/whole-file.ts'
import { createSettingsCommandLine } from './gateway-settings.ts'

/** `cartbarn doctor`: checks the gateway and its machine, and prints findings with their remedies. */
export const doctor: RunCommand = (argv, io) =>
  runCommand('doctor', io, async () => {
    const command = createSettingsCommandLine('doctor', io)
      .description(
        'Checks the settings, ports, disk, clock, permissions, certificate, hub and database of a ' +
          'gateway, whether it ' +
          'runs or not, and prints one line for each finding with its remedy. It changes nothing. Call it as root or ' +
          'as the user of the service; without settings it takes those of cartbarn.service. Ends with 1 if ' +
          'something is wrong.',
      )
      .option('--data <dir>', 'another data folder than that of the settings')
      .option('--key <key>', `an admin's API key, with which the gateway reports more (environment: ${KEY_VARIABLE})`)
      .option('--key-file <file>', 'instead: the file that holds it')
      .option('--bundle <file>', 'also pack what support needs, without secrets, as JSON in gzip')
    const { config, data, bundle, ...given } = parseCommandLine(command, argv).opts()
    const isKeyGiven = given.key !== undefined || given.keyFile !== undefined || Boolean(io.env[KEY_VARIABLE])
    const machine = thisMachine(userInfo().uid)
    const examination = await examine(machine, {
      environment: io.env,
      file: config === undefined ? undefined : pathFrom(io, config),
      key: isKeyGiven ? requireKey(given, io) : undefined,
      dataDir: data === undefined ? undefined : pathFrom(io, data),
    })
    print(examination.findings, io)
    if (bundle !== undefined) {
      const path = pathFrom(io, bundle)
      await writeWhole(path, await packBundle(machine, examination))
      io.stderr.write(`${path} is for support; check its content first: gunzip -c ${path}\n`)
    }
    return examination.findings.some(({ level }) => level === 'wrong') ? EXIT.failed : EXIT.ok
  })

function print(findings: readonly Finding[], { stdout }: CommandIo): void {
  for (const finding of findings) stdout.write(`${lineOf(finding)}\n`)
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  stdout.write(
    `${count('wrong')} wrong, ${count('mind')} to mind, ${count('ok')} ok. By what you see: ` +
      `docs/when-something-is-wrong.md, or /help/ of the gateway.\n`,
  )
}

async function writeWhole(path: string, content: Buffer): Promise<void> {
  try {
    const file = await WholeFile.create(path)
    await file.write(content)
    await file.finish()
  } catch (error) {
    throw new CommandError(`the bundle was not written: ${describeError(error)}`, { cause: error })
  }
}
