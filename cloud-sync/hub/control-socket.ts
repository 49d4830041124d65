import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { type HubCommand, hubCommandSchema } from './commands.ts'

const answerSchema = z.object({ isDone: z.boolean(), text: z.string() })
type Answer = z.infer<typeof answerSchema>

/** The operating system stores the path of a socket in 108 bytes, of which one is the terminator. */
const MAX_PATH_BYTES = 107
const MAX_REQUEST_CHARACTERS = 65_536

/**
 * Runs the commands of `cartbarn hub …` while this process has the embedded database open. The permissions of its
 * folder decide who may send commands.
 */
export class ControlSocket implements Component {
  readonly #path: string
  readonly #run: (command: HubCommand) => Promise<string>
  readonly #log: Log
  #server: Server | undefined

  constructor(dataDir: string, run: (command: HubCommand) => Promise<string>, log: Log) {
    this.#path = socketPath(dataDir)
    this.#run = run
    this.#log = log
  }

  async start(): Promise<void> {
    // this process has locked the folder: an existing socket was left by a process that was killed
    rmSync(this.#path, { force: true })
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#answer(socket))
    try {
      if (Buffer.byteLength(this.#path) > MAX_PATH_BYTES) throw new Error('the path is too long for a socket')
      server.listen(this.#path)
      await once(server, 'listening')
      chmodSync(this.#path, 0o600)
      this.#server = server
    } catch (error) {
      const fields = { path: this.#path, reason: describeError(error) }
      this.#log.warn(fields, 'opening the control socket failed; commands will not work while the hub runs')
    }
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.close()
    await once(server, 'close')
  }

  async #answer(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy())
    try {
      socket.end(JSON.stringify(await this.#do(socket)))
    } catch {
      socket.destroy()
    }
  }

  async #do(socket: Socket): Promise<Answer> {
    const request = await text(socket)
    if (request.length > MAX_REQUEST_CHARACTERS) throw new Error('too long')
    try {
      return { isDone: true, text: await this.#run(hubCommandSchema.parse(JSON.parse(request))) }
    } catch (error) {
      return { isDone: false, text: describeError(error) }
    }
  }
}

/** Sends a command to a running hub; undefined if none is listening. */
export async function sendHubCommand(dataDir: string, command: HubCommand): Promise<Answer | undefined> {
  const socket = createConnection({ path: socketPath(dataDir), allowHalfOpen: true })
  try {
    await once(socket, 'connect')
  } catch {
    return undefined
  }
  socket.end(JSON.stringify(command))
  return answerSchema.parse(JSON.parse(await text(socket)))
}

function socketPath(dataDir: string): string {
  return join(resolve(dataDir), 'hub.sock')
}
