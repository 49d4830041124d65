import { resolve } from 'node:path'
import type { AdminKeyFile } from '#shared/admin-key-file.ts'
import { describeError, UnavailableError } from '#shared/errors.ts'
import { hashSecret, newApiKey } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { Store } from '#store/store.ts'
import { groupedCode, newCode, readCode } from './people/codes.ts'
import type { Pairing } from './people/pairing-codes.ts'
import type { Users } from './users.ts'

interface FirstAdminKeyDeps {
  store: Pick<Store, 'read'>
  users: Users
  file: AdminKeyFile
  /** Value of `CARTBARN_ADMIN_API_KEY`. */
  givenKey: string | undefined
  log: Log
}

const CHECK_MS = 2_000
/** Name of a session that sets up the gateway. */
const SETUP = 'setup'

/**
 * Creates the first admin, and keeps its key in a file until it is used, with a code that signs a browser in until an
 * admin has signed in or used the key. The file is on the disk before the key is valid, and is removed once a use of
 * the key is on the disk: whenever the gateway is killed, the operator gets a key from the next start. Starts after
 * everything that may fail, such as a port that is taken.
 */
export class FirstAdminKey implements Component {
  readonly #deps: FirstAdminKeyDeps
  /** Key in the file, not used since the start. */
  #waiting: { key: string; keyHash: string; userId: string } | undefined
  #setupCode: string | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: FirstAdminKeyDeps) {
    this.#deps = deps
  }

  /** Throws an `Error` with a readable message if the file cannot be written. */
  async start(): Promise<void> {
    const { file, log } = this.#deps
    await this.#giveKey()
    this.#warnOfOtherKey()
    const key = file.read()
    const user = key === undefined ? undefined : this.#activeAdmin(hashSecret(key))
    if (user === undefined) {
      // left by a start that was killed, or the admin has another key by now
      file.tryRemove(log)
      return
    }
    this.#waiting = { key: key ?? '', keyHash: user.keyHash, userId: user.userId }
    this.#readSetupCode(user.usage.firstUsedAtMs === null)
    log.info({ path: file.path }, 'wrote the admin key to a file, which is deleted when the key is used')
    this.#timer = setInterval(() => void this.#check().catch(() => undefined), CHECK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#check()
  }

  /** True while the key in the file is unused. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  /** Code that signs a browser in, for links on a terminal; undefined once an admin has signed in or used the key. */
  get setupCode(): string | undefined {
    const isUsed = this.#waiting === undefined || this.#deps.users.isKeyUsed(this.#waiting.keyHash)
    return isUsed ? undefined : this.#setupCode
  }

  /** Redeems the setup code, once; undefined if the code is wrong. Throws `store_unavailable`. */
  takeSetupCode(text: string): Pairing | undefined {
    const { setupCode } = this
    if (this.#waiting === undefined || setupCode === undefined || readCode(text) !== setupCode) return undefined
    try {
      // first, so that no second browser can sign in with it, whatever fails then
      this.#deps.file.write(this.#waiting.key)
    } catch (error) {
      throw new UnavailableError('removing the setup code from its file failed', error)
    }
    this.#setupCode = undefined
    return { userId: this.#waiting.userId, name: SETUP, isSetUp: true }
  }

  /** Path of the file with the setup code; undefined once the code is used. */
  get setupCodeFile(): string | undefined {
    return this.setupCode === undefined ? undefined : resolve(this.#deps.file.path)
  }

  #readSetupCode(isUnused: boolean): void {
    const { file, log } = this.#deps
    const written = file.readSetupCode()
    if (written === undefined || this.#waiting === undefined) return
    if (isUnused) {
      this.#setupCode = readCode(written)
      return
    }
    try {
      file.write(this.#waiting.key)
    } catch (error) {
      log.warn({ reason: describeError(error) }, 'removing the setup code from its file failed')
    }
  }

  async #giveKey(): Promise<void> {
    const { store, users, file, givenKey, log } = this.#deps
    const admins = this.#activeAdmins()
    const [oldest] = admins
    if (oldest === undefined) {
      await users.createFirstAdmin(givenKey ?? this.#newKeyInFile(), givenKey !== undefined)
      return
    }
    const isUnknown =
      !store.read.isAdminKeyRevealed() &&
      admins.every(({ usage }) => usage.firstUsedAtMs === null) &&
      this.#activeAdmin(hashSecret(file.read() ?? '')) === undefined
    if (!isUnknown) return
    try {
      const apiKey = givenKey ?? this.#newKeyInFile()
      await users.rotateKey(oldest.userId, { apiKey, isRevealed: givenKey !== undefined })
    } catch (error) {
      // a full disk must not keep the gateway from serving
      log.warn({ reason: describeError(error) }, 'replacing the unused first key of the admin failed')
    }
  }

  #newKeyInFile(): string {
    const key = newApiKey()
    this.#deps.file.write(key, groupedCode(newCode()))
    return key
  }

  #warnOfOtherKey(): void {
    const { givenKey, log } = this.#deps
    if (givenKey === undefined || this.#activeAdmin(hashSecret(givenKey)) !== undefined) return
    log.warn(
      {},
      'CARTBARN_ADMIN_API_KEY is ignored: it applies only to the first start; ' +
        `${typedCommand('admin-key')} creates a new key`,
    )
  }

  async #check(): Promise<void> {
    const { users, store } = this.#deps
    const waiting = this.#waiting
    if (waiting === undefined) return
    const user = this.#activeAdmin(waiting.keyHash)
    if (user !== undefined) {
      if (!users.isKeyUsed(waiting.keyHash)) return
      await users.flushUsage()
      // otherwise the next start could take the key for an unused one
      const stored = store.read.users().find(({ userId }) => userId === user.userId)
      if (stored?.usage.firstUsedAtMs === null) return
    }
    if (!this.#deps.file.tryRemove(this.#deps.log)) return
    this.#waiting = undefined
    clearInterval(this.#timer)
  }

  #activeAdmins() {
    return this.#deps.users.all().filter(({ role, isActive }) => role === 'admin' && isActive)
  }

  #activeAdmin(keyHash: string) {
    return this.#activeAdmins().find((user) => user.keyHash === keyHash)
  }
}
