import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  CommandError,
  type CommandIo,
  EXIT,
  pathFrom,
  type RunCommand,
  runCommand,
  systemCode,
} from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { isExecutable } from '#shared/program-files.ts'
import { releaseKeys } from '#shared/release/release-keys.ts'
import { ReleaseError, verifyReleaseFile } from '#shared/release/verify-release.ts'
import { programVersion, readVersion } from '#shared/version.ts'

/** On a disk, as `/tmp` may be in memory; users who may write there cannot write the folder created in it. */
const WORK = '/var/tmp'
const ARCHITECTURES: Partial<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** `cartbarn upgrade`: verifies a file of a release, and installs it if it is a package for this machine. */
export const upgrade: RunCommand = (argv, io) =>
  runCommand('upgrade', io, async () => {
    const command = createCommandLine('upgrade', io)
      .description(
        'Checks that a file of a release, with SHA256SUMS and SHA256SUMS.sig next to it, was signed by a key of ' +
          'this program. A ' +
          'package (.deb) is then installed, as root; it keeps the program before. Needs no internet.',
      )
      .argument('<file>', 'the package or the archive')
    const [file] = parseCommandLine(command, argv).processedArgs
    const path = pathFrom(io, file)
    const keys = releaseKeys(io.env)
    if (!isExecutable && keys.length === 0)
      throw new CommandError('this program runs from its sources: upgrade it with "git pull", then start it again')
    if (!existsSync(path)) throw new CommandError(`there is no ${path}`)
    // root installs its verified copy: a user who may write the file's folder could change the original afterwards
    const folder = mkdtempSync(join(WORK, 'cartbarn-upgrade-'))
    try {
      const copy = join(folder, basename(path))
      verify(path, keys, copy)
      io.stdout.write(`${path} is as it was signed.\n`)
      if (path.endsWith('.deb')) install(path, copy, io)
      else
        io.stdout.write(
          'Unpack it (tar -xJf), keep the program that runs now, put the new one in its place and start the ' +
            'gateway again.\n',
        )
      return EXIT.ok
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

function verify(path: string, keys: readonly string[], copy: string): void {
  try {
    verifyReleaseFile(path, keys, copy)
  } catch (error) {
    if (!(error instanceof ReleaseError) && systemCode(error) === undefined) throw error
    throw new CommandError(`nothing was changed: ${describeError(error)}`)
  }
}

/** Throws unless `copy`, the verified copy of a package, is cartbarn for this machine, not older than this program. */
function checkPackage(path: string, copy: string): void {
  const [name, version = '', architecture] = ['Package', 'Version', 'Architecture'].map((field) =>
    run('dpkg-deb', ['--field', copy, field]).trim(),
  )
  if (name !== 'cartbarn') throw new CommandError(`nothing was changed: ${path} is the package ${name}`)
  const own = ARCHITECTURES[process.arch]
  if (architecture !== own)
    throw new CommandError(
      `nothing was changed: the package is for ${architecture}, this machine is ${own ?? process.arch}`,
    )
  const { status } = spawnSync('dpkg', ['--compare-versions', version, 'ge', programVersion()])
  if (status !== 0)
    throw new CommandError(
      `nothing was changed: the package is version ${version}, older than ${readVersion()}, and would not read ` +
        'its database; ' +
        'see docs/upgrade.md to go back',
    )
}

/** Installs the package, which stops the service, keeps the previous program and starts the new one. */
function install(path: string, copy: string, { stdout }: CommandIo): void {
  checkPackage(path, copy)
  if (process.geteuid?.() !== 0) throw new CommandError(`only root installs a package: sudo cartbarn upgrade ${path}`)
  // with versions up to 1.0.0 the settings are a conffile, and dpkg's question would get no answer here
  stdout.write(run('dpkg', ['--force-confold', '--install', copy]))
  stdout.write('Installed. "systemctl status cartbarn" shows its state.\n')
}

/** Returns the output of a system program. Throws a `CommandError` with its whole output if it fails. */
function run(command: string, args: string[]): string {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  if (error !== undefined) throw new CommandError(`cannot run ${command}: ${error.message}`, { cause: error })
  if (status !== 0) throw new CommandError(`${command} failed:\n${`${stdout}${stderr}`.trim()}`)
  return stdout
}
