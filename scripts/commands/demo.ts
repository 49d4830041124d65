import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Config } from '#gateway/config.ts'
import { type Addresses, runGateway } from '#gateway/main.ts'
import { DEFAULT_DATA_DIR } from '#gateway/network-settings.ts'
import { loadDemoKey } from '#gateway/offline/admin-key.ts'
import { CommandError, type CommandIo, EXIT, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { KEY_VARIABLE } from '#scripts/cli/gateway-options.ts'
import { startCommand } from '#scripts/cli/start-command.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import { createSettingsCommandLine, readNamedSettings } from './gateway-settings.ts'

const DEMO_DATA_DIR = './demo-data'
/** Days of history of the carts before the first start. */
const PAST_DAYS = 3
/** Time that the simulated devices get to disconnect. */
const STOP_MS = 3_000

/** `cartbarn demo`: the gateway with a simulated course, until a signal. */
export const demo: RunCommand = (argv, io) =>
  runCommand('demo', io, async () => {
    const command = createSettingsCommandLine('demo', io).description(
      'Starts the gateway of a golf course, with simulated carts that drive on it, a barn, a boundary and the ' +
        'settings ' +
        'of the course. What it would have seen in the three days before is filled in meanwhile. The data is in ' +
        './demo-data, or ' +
        'in CARTBARN_DATA_DIR, which must not be that of a real course.',
    )
    return runDemo(readNamedSettings(parseCommandLine(command, argv).opts().config, io), io)
  })

/**
 * Runs the gateway with a simulated course, until a signal; without `CARTBARN_DATA_DIR`, or with its default, in a
 * separate folder. Throws `CommandError` for a folder with the data of a real course.
 */
export async function runDemo(settings: Config, { env, signal }: CommandIo): Promise<number> {
  const isDefault = settings.dataDir === DEFAULT_DATA_DIR
  const config = { ...settings, dataDir: isDefault ? DEMO_DATA_DIR : settings.dataDir }
  const failing = new AbortController()
  const onEnd = (code: number | null) => {
    // a simulator stopped before it drove live exits with `interrupted`, or by the signal itself
    const isWanted = code === EXIT.ok || (signal.aborted && (code === EXIT.interrupted || code === null))
    // a demo without carts is useless
    if (!isWanted) failing.abort('the simulated course has failed')
  }
  try {
    const { file: keyFile, key: adminApiKey } = loadDemoKey(config)
    const create = (addresses: Addresses) =>
      new SimulatedCourse(addresses, { ...env, [KEY_VARIABLE]: adminApiKey }, onEnd)
    const stopping = AbortSignal.any([signal, failing.signal])
    const code = await runGateway({ ...config, adminApiKey }, stopping, { keyFile, create })
    if (failing.signal.aborted) throw new Error(String(failing.signal.reason))
    return code
  } catch (error) {
    throw new CommandError(describeError(error), { cause: error })
  }
}

/** Simulator in a separate process, like real devices. */
class SimulatedCourse implements Component {
  readonly #addresses: Addresses
  readonly #env: NodeJS.ProcessEnv
  readonly #onEnd: (code: number | null) => void
  #child: ChildProcess | undefined

  /** `onEnd` gets the exit code of the simulator, null if a signal ended it. */
  constructor(addresses: Addresses, env: NodeJS.ProcessEnv, onEnd: (code: number | null) => void) {
    this.#addresses = addresses
    this.#env = env
    this.#onEnd = onEnd
  }

  async start(): Promise<void> {
    const { http, mqtt, mqtts } = this.#addresses
    const broker = mqtt ?? mqtts
    // connects to its own gateway over the loopback, which the certificate need not name
    const trust = http.startsWith('https:') ? { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' } : {}
    const where = ['--url', http, ...(broker === undefined ? [] : ['--mqtt', broker])]
    const argv = ['--set-up', '--past', String(PAST_DAYS), ...where]
    this.#child = startCommand('simulate', argv, { ...this.#env, ...trust })
    this.#child.once('exit', this.#onEnd)
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await Promise.race([once(child, 'exit'), once(AbortSignal.timeout(STOP_MS), 'abort')])
  }
}
