import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { keepDemoKey } from '#gateway/admin-key.ts'
import { type Config, DEFAULT_DATA_DIR } from '#gateway/config.ts'
import { type Addresses, runGateway } from '#gateway/main.ts'
import { CommandError, type CommandIo, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { startCommand } from '#scripts/cli/start-command.ts'
import { describeError } from '#shared/errors.ts'
import type { Part } from '#shared/lifecycle.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

const DEMO_DATA_DIR = './data-demo'
/** How long the simulated devices may take to disconnect. */
const STOP_MS = 3_000

/** `cartbarn demo`: the gateway with a simulated course, until a signal. */
export const demo: RunCommand = (argv, io) =>
  runCommand('demo', io, async () => {
    const command = createSettingsCommandLine('demo', io).description(
      'Starts the gateway of a golf course, with simulated carts that drive on it, a barn, a boundary and the settings ' +
        'of the course. The data is in ./data-demo, or ' +
        'in CARTBARN_DATA_DIR, which must not be that of a real course.',
    )
    return runDemo(readSettings(parseCommandLine(command, argv).opts().config, io), io)
  })

/**
 * Runs the gateway with a simulated course, until a signal; without `CARTBARN_DATA_DIR`, or with its default, on a folder
 * of its own. Throws `CommandError` for a folder with the data of a real course.
 */
export async function runDemo(settings: Config, { env, signal }: CommandIo): Promise<number> {
  const isDefault = settings.dataDir === DEFAULT_DATA_DIR
  const config = { ...settings, dataDir: isDefault ? DEMO_DATA_DIR : settings.dataDir }
  try {
    const { file: keyFile, key: adminApiKey } = keepDemoKey(config)
    const create = (addresses: Addresses) =>
      new SimulatedCourse(addresses, { ...env, CARTBARN_ADMIN_API_KEY: adminApiKey })
    return await runGateway({ ...config, adminApiKey }, signal, { keyFile, create })
  } catch (error) {
    throw new CommandError(describeError(error), { cause: error })
  }
}

/** The simulator in a process of its own, like real devices. */
class SimulatedCourse implements Part {
  readonly #addresses: Addresses
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | undefined

  constructor(addresses: Addresses, env: NodeJS.ProcessEnv) {
    this.#addresses = addresses
    this.#env = env
  }

  async start(): Promise<void> {
    const { http, mqtt, mqtts } = this.#addresses
    const broker = mqtt ?? mqtts
    // to its own gateway over the loopback, which the certificate need not name
    const trust = http.startsWith('https:')
      ? { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
      : {}
    const argv = ['--set-up', '--url', http, ...(broker === undefined ? [] : ['--mqtt', broker])]
    this.#child = startCommand('simulate', argv, { ...this.#env, ...trust })
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await Promise.race([once(child, 'exit'), once(AbortSignal.timeout(STOP_MS), 'abort')])
  }
}
