import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'

const ENTRY = fileURLToPath(new URL('../../../scripts/commands/cartbarn.ts', import.meta.url))

/** Hub in its own process. */
export interface HubProcess {
  readonly url: string
  /** All output lines. */
  readonly output: readonly string[]
  /** Ends it with a signal; returns its exit code. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/** Starts `npm run hub` without npm. Throws its output if it does not start. */
export async function runHub(settings: Record<string, string>): Promise<HubProcess> {
  const child = start([], settings)
  const output: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        output.push(line)
        const found = /"http":"([^"]+)".*"msg":"listening"/.exec(line)?.[1]
        if (found !== undefined) resolve(found)
      })
    }
    child.once('close', () => reject(new Error(output.join('\n'))))
  })
  return {
    url,
    output,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const closed = once(child, 'close')
      child.kill(signal)
      await closed
      return child.exitCode
    },
  }
}

/** Runs `npm run hub -- …` without npm to its end. */
export async function runHubCommand(
  args: readonly string[],
  settings: Record<string, string>,
): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
  const child = start(args, settings)
  if (child.stdout === null || child.stderr === null) throw new Error('no output')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null) await once(child, 'close')
  return { exitCode: child.exitCode, stdout, stderr }
}

function start(args: readonly string[], settings: Record<string, string>): ChildProcess {
  const env = bareEnvironment({ CARTBARN_HUB_HOST: '127.0.0.1', CARTBARN_HUB_PORT: '0', ...settings })
  return spawn(process.execPath, [ENTRY, 'hub', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
}
