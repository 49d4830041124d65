import { existsSync, statSync } from 'node:fs'
import { initTls, readTlsFiles, renewTls, type TlsFiles } from '#gateway/offline/tls-files.ts'
import { CommandError, EXIT, type RunCommand, runCommand, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { type Clock, systemClock, toIso } from '#shared/time.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** `cartbarn tls`: manages the certificate authority of this machine, so that browsers and devices can use TLS. */
export const tls = createTls(systemClock)

export function createTls(clock: Clock): RunCommand {
  return (argv, io) =>
    runCommand('tls', io, async () => {
      let act: ((config: ReturnType<typeof readSettings>) => string) | undefined
      const command = createSettingsCommandLine('tls', io).description(
        'Encrypts what goes over the network of the course: an authority that this machine makes for itself, which ' +
          'each tablet must trust once. The gateway may be running.',
      )
      command
        .command('init')
        .description('make an authority of ten years for this machine, and its first certificate')
        .option('--name <name...>', 'a further name by which people reach this machine')
        .option('--replace', 'in the place of the one that is there; each tablet must trust the new one')
        .action(({ name = [], replace = false }) => {
          act = (config) =>
            `${textOf(initTls(config, { names: name, isReplacing: replace, nowMs: clock.nowMs() }))}${NEXT}`
        })
      command
        .command('renew')
        .description('make another certificate now; the gateway does so automatically a month before the end')
        .action(() => {
          act = (config) => textOf(renewTls(config, clock.nowMs()))
        })
      command
        .command('status')
        .description('print what the authority and the certificate are for, and until when')
        .action(() => {
          act = (config) => textOf(readTlsFiles(config))
        })
      const { config } = parseCommandLine(command, argv).opts()
      if (act === undefined) throw new UsageError('a command is needed')
      const settings = readSettings(config, io)
      try {
        becomeOwner(settings.dataDir)
        io.stdout.write(act(settings))
      } catch (error) {
        throw new CommandError(describeError(error), { cause: error })
      }
      return EXIT.ok
    })
}

/**
 * Switches to the folder's owner: the service could not read files of root, and a link there must not redirect root.
 */
function becomeOwner(folder: string): void {
  if (process.geteuid?.() !== 0 || !existsSync(folder)) return
  const { uid, gid } = statSync(folder)
  if (uid === 0) return
  process.setegid?.(gid)
  process.seteuid?.(uid)
}

const NEXT = `
Now restart the gateway. Its port then speaks HTTPS, and plain HTTP as before; devices need no change.
On each tablet open http://THIS-MACHINE:8080/trust once. For MQTT over TLS set CARTBARN_MQTTS_PORT=8883.
Encrypted backups contain the authority, others do not. Its key must not leave this machine otherwise.
`

function textOf({ authority, leaf, missing }: TlsFiles): string {
  const lines = [
    `Authority    ${authority.commonName}, until ${toIso(authority.expiresAtMs).slice(0, 10)}`,
    `             may sign for ${authority.names.join(', ')} and private addresses`,
    `             ${authority.path}`,
    `Fingerprint  ${authority.fingerprint}`,
    leaf === null
      ? 'Certificate  none that can be read: the gateway makes one, or "cartbarn tls renew" does'
      : `Certificate  for ${leaf.hosts.join(', ')}, until ${toIso(leaf.expiresAtMs).slice(0, 10)}`,
    ...(authority.isForServersOnly
      ? []
      : [
          'Mind         the authority is of version 1.0.0, whose certificate does not keep it from signing for ' +
            'mail and clients: "cartbarn tls init --replace" makes one for servers only, which each tablet must ' +
            'then trust',
        ]),
    ...(missing.length === 0
      ? []
      : [
          `Mind         this machine is also called ${missing.join(', ')}, for which the authority may not ` +
            'sign: reach it by another name, or "cartbarn tls init --replace"',
        ]),
  ]
  return `${lines.join('\n')}\n`
}
