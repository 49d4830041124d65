import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import type { RunCommand } from '#scripts/cli/command.ts'
import { ADMIN_KEY } from '#testing/start-gateway.ts'

export interface Outcome {
  code: number
  out: string
  err: string
}

interface Around {
  key?: string
  stdin?: string | readonly Uint8Array[]
  isTerminal?: boolean
  signal?: AbortSignal
}

/** Folder in which commands are run as a user would, but within this process. */
export class CommandFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'cartbarn-tracks-'))

  file(name: string): string {
    return join(this.path, name)
  }

  /** `around` holds the other properties of a process. */
  async run(
    command: RunCommand,
    argv: readonly string[],
    { key = ADMIN_KEY, stdin = '', isTerminal = false, signal = new AbortController().signal }: Around = {},
  ): Promise<Outcome> {
    const [stdout, stderr] = [new Pipe(), new Pipe()]
    stderr.isTTY = isTerminal
    const code = await command(argv, {
      env: { CARTBARN_API_KEY: key },
      folder: this.path,
      stdin: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : stdin),
      stdout,
      stderr,
      signal,
    })
    return { code, out: stdout.written, err: stderr.written }
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Keeps everything written to it. */
class Pipe extends PassThrough {
  isTTY = false
  written = ''

  constructor() {
    super()
    this.setEncoding('utf8')
    this.on('data', (text: string) => {
      this.written += text
    })
  }
}
