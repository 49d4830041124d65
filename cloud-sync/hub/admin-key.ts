import type { Database } from '#hub/store/database/database.ts'
import { changeHubUser, hasHubAdmin, hubUserByKey, listHubUsers } from '#hub/store/users.ts'
import type { AdminKeyFile } from '#shared/admin-key-file.ts'
import { preparePrivateFolder } from '#shared/files/private-files.ts'
import { hashSecret, newHubKey } from '#shared/ids.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { createFirstHubAdmin } from './users.ts'

interface HubAdminKeyDeps {
  database: Database
  file: AdminKeyFile
  dataDir: string
  clock: Clock
  log: Log
}

const CHECK_MS = 2_000

/**
 * Creates the first admin, and stores its key in a file until it is used. The file is on the disk before the key is
 * valid, and is removed when this hub has received a request with the key. If several hubs start on one empty database,
 * one creates the admin, and only its file stays.
 */
export class HubAdminKey implements Component {
  readonly #deps: HubAdminKeyDeps
  readonly #givenKey: string | undefined
  #waitingHash: string | undefined
  #timer: NodeJS.Timeout | undefined

  /** `givenKey`: `CARTBARN_HUB_ADMIN_API_KEY`. */
  constructor(deps: HubAdminKeyDeps, givenKey: string | undefined) {
    this.#deps = deps
    this.#givenKey = givenKey
  }

  /** Throws an `Error` with a readable message if the file cannot be written. */
  async start(): Promise<void> {
    const { database, file, clock, log } = this.#deps
    if (!(await hasHubAdmin(database))) {
      const key = this.#givenKey ?? this.#keyInFile()
      await createFirstHubAdmin(database, key, clock.nowMs())
    }
    if (this.#givenKey !== undefined && !(await this.#isAdmins(this.#givenKey)))
      log.warn(
        {},
        'CARTBARN_HUB_ADMIN_API_KEY is not the key of an admin: it applies only to the first start; ' +
          `${typedCommand('hub admin-key')} makes a new key`,
      )
    const key = file.read()
    if (key !== undefined && !(await this.#isAdmins(key))) file.tryRemove(log)
    this.#readKey()
    if (this.isWaiting) log.info({ path: file.path }, 'the admin key is in a file until it is used')
    this.#timer = setInterval(() => this.#readKey(), CHECK_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
  }

  /** True while the key in the file has not been used. */
  get isWaiting(): boolean {
    return this.#waitingHash !== undefined
  }

  /** Records that a request was made with a key. */
  wasUsed(keyHash: string): void {
    if (keyHash === this.#waitingHash && this.#deps.file.tryRemove(this.#deps.log)) this.#waitingHash = undefined
  }

  /** Replaces the oldest active admin's key. Returns the text to print: the key if `isShown`, else its file's path. */
  async replace(isShown: boolean): Promise<string> {
    const { database, dataDir, file } = this.#deps
    const admins = await listHubUsers(database)
    const admin = admins.find(({ role, isActive }) => role === 'admin' && isActive)
    if (admin === undefined) throw new Error('the hub has no admin yet: start it once')
    const key = newHubKey()
    if (!isShown) {
      preparePrivateFolder(dataDir, ['admin-key.txt'])
      file.write(key)
    }
    await changeHubUser(database, admin.userId, { keyHash: hashSecret(key) })
    if (isShown) file.remove()
    this.#readKey()
    const place = isShown ? 'This is' : `${file.path} has, until its first use,`
    const message = `${place} the new key of ${admin.name}; the old one is no longer valid.\n`
    return isShown ? `${key}\n${message}` : message
  }

  /** The command that replaces a key may run in another process, alongside a hub on PostgreSQL. */
  #readKey(): void {
    const key = this.#deps.file.read()
    this.#waitingHash = key === undefined ? undefined : hashSecret(key)
  }

  /** Hubs on one machine may start simultaneously in one folder. */
  #keyInFile(): string {
    const { dataDir, file } = this.#deps
    preparePrivateFolder(dataDir, ['admin-key.txt'])
    return file.writeIfNone(newHubKey())
  }

  async #isAdmins(key: string): Promise<boolean> {
    const user = await hubUserByKey(this.#deps.database, hashSecret(key))
    return user?.role === 'admin' && user.isActive
  }
}
