import { computed, effect, type ReadonlySignal, signal } from '@preact/signals-core'
import { ApiClient, ApiError } from '#shared/client.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import type { ServerMessage } from '#shared/wire/realtime.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import type { SiteSettingsJson } from '#shared/wire/site.ts'
import { AlertSound, openAlerts } from './alert-list.ts'
import { readCode, type SignInCode } from './code.ts'
import { CommandTracker } from './commands.ts'
import { Fleet } from './fleet/fleet.ts'
import { WeekUsage } from './fleet/usage.ts'
import { GatewayClock } from './gateway-clock.ts'
import { GatewayConnection, type LineEvents, type LineSocket } from './gateway-connection.ts'
import type { SavedView } from './kept-view.ts'
import { filesOf, isOtherPage, type PageFiles } from './page/page-files.ts'
import { isTlsTrusted, TlsMove } from './page/tls-move.ts'
import { PersonGate } from './pin-prompt.ts'
import { Preferences, toQuery } from './preferences.ts'
import { RecallMonitor } from './recall.ts'
import { Router } from './route.ts'
import { SCREEN_TYPES } from './safe-lock.ts'
import { isFirstSetUp } from './set-up/set-up.ts'
import { Sound } from './sound.ts'
import { UpgradeMonitor } from './upgrade-monitor.ts'

const IDLE_MS = 60_000

/** Time of the last use of this page. */
class LastActivity {
  #lastMs: number | null = null

  start(): void {
    const touched = () => {
      this.#lastMs = performance.now()
    }
    for (const event of ['pointerdown', 'keydown', 'input'])
      addEventListener(event, touched, { capture: true, passive: true })
  }

  /** True if the page has not been used since it was opened. */
  get isUntouched(): boolean {
    return this.#lastMs === null
  }

  /** True if the page has not been used for a minute. */
  get isIdle(): boolean {
    return this.#lastMs === null || performance.now() - this.#lastMs >= IDLE_MS
  }
}

type Site = MeJson['site']

/** Interval of `GET /me`: an admin's rights expire, and an idle PIN user is signed out, without a realtime message. */
const CHECK_RIGHTS_MS = 30_000

/** State and actions of all screens: one instance for the page. */
export class Dashboard {
  readonly api = new ApiClient({ url: '' })
  readonly clock = new GatewayClock()
  readonly fleet = new Fleet()
  /** Shared by the whole page, so that it is requested once an hour however often the fleet is opened. */
  readonly week = new WeekUsage(this.api)
  readonly router = new Router()
  readonly preferences = new Preferences()
  readonly line = new GatewayConnection({ open: openSocket, clock: this.clock, take: (message) => this.#take(message) })
  readonly upgrade = new UpgradeMonitor({ line: this.line })
  readonly gate = new PersonGate({
    me: () => this.#me.value,
    nowMs: () => this.clock.nowMs(),
    preferences: this.preferences,
    refresh: () => this.refresh(),
    day: () => new TimeZone(this.#site.value.time_zone).local(this.clock.nowMs()).date,
    // without a response the action fails as well
    havePins: () =>
      this.api.call('GET /people').then(
        ({ length }) => length > 0,
        () => false,
      ),
  })
  readonly commands = new CommandTracker({
    api: this.api,
    line: this.line,
    act: (action) => this.gate.act(action),
  })
  readonly #me = signal<MeJson | null>(null)
  readonly recall = new RecallMonitor({
    api: this.api,
    line: this.line,
    role: computed(() => this.#me.value?.role ?? 'user'),
  })
  readonly sound = new Sound()
  readonly tlsMove = new TlsMove({
    isPlain: () => location.protocol === 'http:',
    reaches: isTlsTrusted,
    isIdle: () => this.#isIdle(),
    go: (origin) => location.replace(this.#addressAt(origin)),
  })
  readonly #touches = new LastActivity()
  /** Map view that the user chose, restored when the map opens again; null while it shows the whole course. */
  keptView: SavedView | null = null
  readonly #bell = new AlertSound(() => this.sound.ring())
  readonly #settings = signal<SiteSettingsJson | null>(null)
  readonly #site = signal<Site>({ name: '', time_zone: 'UTC', units: 'metric', language: 'en' })
  readonly #shownSite = computed<Site>(() => {
    const { language, units } = this.preferences.choice.value
    const site = this.#site.value
    return { ...site, language: language ?? site.language, units: units ?? site.units }
  })
  readonly #listeners = new Set<(message: ServerMessage) => void>()
  readonly #second = signal(0)
  readonly #lostSecond = signal(0)
  readonly #screenTypes = signal(SCREEN_TYPES)
  readonly #zones = signal(0)
  readonly #code = signal<SignInCode | null>(null)
  readonly #codeFile = signal<string | null>(null)
  readonly #isUpdateReady = signal(false)
  #files: PageFiles = []
  #connections = 0

  /** Signed-in user; null if none. */
  get me(): ReadonlySignal<MeJson | null> {
    return this.#me
  }

  /** Site, with the language and units that this tablet has chosen, else the site's. */
  get site(): ReadonlySignal<Site> {
    return this.#shownSite
  }

  /** All settings of the course; null for players, and until they are known. */
  get settings(): ReadonlySignal<SiteSettingsJson | null> {
    return this.#settings
  }

  /** Device types that support the command `message`. */
  get screenTypes(): ReadonlySignal<ReadonlySet<string>> {
    return this.#screenTypes
  }

  /** Increases once a second while the connection is live, to recompute ages; they freeze while it is lost. */
  get second(): ReadonlySignal<number> {
    return this.#second
  }

  /** Increases once a second while the connection is lost, to show for how long. */
  get lostSecond(): ReadonlySignal<number> {
    return this.#lostSecond
  }

  /** Increases when the zones of the course may differ: after a change, or after the connection was lost. */
  get zones(): ReadonlySignal<number> {
    return this.#zones
  }

  /** Code in the address of the page, to sign in with. */
  get code(): ReadonlySignal<SignInCode | null> {
    return this.#code
  }

  /** File on the computer of a new gateway that holds its setup code; null once the gateway is set up. */
  get codeFile(): ReadonlySignal<string | null> {
    return this.#codeFile
  }

  /** True if the gateway serves a different version of this page. */
  get isUpdateReady(): ReadonlySignal<boolean> {
    return this.#isUpdateReady
  }

  start(): void {
    this.#takeCode()
    this.#files = filesOf(document)
    this.preferences.load()
    this.#takeChoice()
    this.#touches.start()
    this.tlsMove.start()
    addEventListener('hashchange', () => this.#takeCode())
    this.router.start()
    this.sound.start()
    effect(() => this.#listenForAlerts())
    setInterval(() => {
      const { kind } = this.line.state.value
      if (kind === 'live') this.#second.value++
      else if (kind === 'lost') this.#lostSecond.value++
    }, 1_000)
    setInterval(() => this.#checkRights(), CHECK_RIGHTS_MS)
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState !== 'visible') return
      this.line.hurry()
      // the user may come back from the settings of the tablet
      void this.tlsMove.check()
    })
    for (const event of ['online', 'pageshow']) addEventListener(event, () => this.line.hurry())
  }

  /** Enters as the user that `GET /me` returned. */
  enter(me: MeJson): void {
    const isOther = this.#me.value?.session?.session_id !== me.session?.session_id
    if (isOther) this.fleet.clear()
    this.#know(me)
    // its session ends with the set-up, and with it a connection
    if (isFirstSetUp(me)) return
    if (!isOther && this.line.state.value.kind !== 'ended') return
    this.#connections = 0
    this.line.start()
  }

  /** Enters after a code or key was given here; the PIN user of the previous session is signed out. */
  begin(me: MeJson): void {
    this.preferences.remember(null)
    this.enter(me)
    // the sign-in response has no TLS data
    void this.refresh()
  }

  /** Requests the signed-in user, null if none. Throws if the gateway does not respond. */
  async whoIsIn(): Promise<MeJson | null> {
    const { me, tls, setup_code_file } = await this.api.call('GET /sessions/current')
    this.tlsMove.know(tls)
    this.#codeFile.value = setup_code_file ?? null
    return me
  }

  leave(): void {
    this.line.stop()
    this.fleet.clear()
    this.commands.clear()
    this.preferences.remember(null)
    this.#me.value = null
    this.#settings.value = null
  }

  /**
   * Requests the signed-in user and the PIN user. A missing response is not an error: the connection state shows it.
   */
  async refresh(): Promise<void> {
    const me = await this.#signedIn()
    // signed out meanwhile: the connection state shows it
    if (this.#me.value !== null && me !== null) this.#know(me)
  }

  /** Continues with a new session, if there is one, after the session of the connection has ended. */
  async comeBack(): Promise<void> {
    const me = await this.#signedIn()
    if (me !== null && this.line.state.value.kind === 'ended') this.enter(me)
  }

  /** Applies the gateway's response after a PIN user has signed in or out. */
  acts(me: MeJson): void {
    this.#know(me)
    this.preferences.remember(me.session?.person?.user_id ?? null)
  }

  /** Drops the code of the address once it was used or declined. */
  forgetCode(): void {
    this.#code.value = null
  }

  /** Calls `listener` for every realtime message as it arrives; the returned function ends it. */
  listen(listener: (message: ServerMessage) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #signedIn(): Promise<MeJson | null> {
    try {
      return await this.whoIsIn()
    } catch (error) {
      if (error instanceof ApiError || error instanceof TypeError) return null
      throw error
    }
  }

  #know(me: MeJson): void {
    const before = this.#me.value
    this.#me.value = me
    // realtime messages do not state which carts a different user sees
    if (before !== null && sightOf(before) !== sightOf(me)) this.line.subscribe()
    this.#site.value = me.site
    if (me.role === 'user') this.#settings.value = null
    else if (this.#settings.value === null) {
      void this.#readSettings()
      void this.#readScreenTypes()
    }
    const person = me.session?.person
    if (person != null) this.preferences.remember(person.user_id)
  }

  #take(message: ServerMessage): void {
    this.fleet.take(message)
    this.commands.take(message)
    this.recall.take(message)
    if (message.type === 'site_changed') {
      const { name, time_zone, units, language } = message.site
      this.#site.value = { name, time_zone, units, language }
      if ('pack' in message.site) this.#settings.value = message.site
    }
    if (message.type === 'zones_changed') this.#zones.value++
    if (message.type === 'connected' && ++this.#connections > 1) this.#catchUp()
    for (const listener of this.#listeners) listener(message)
  }

  async #readSettings(): Promise<void> {
    try {
      this.#settings.value = await this.api.call('GET /site')
    } catch {
      // dependent screens fall back to the defaults
    }
  }

  async #readScreenTypes(): Promise<void> {
    try {
      const types = await this.api.call('GET /device-types')
      const screens = types.filter(({ commands }) => 'message' in commands)
      this.#screenTypes.value = new Set(screens.map(({ name }) => name))
    } catch {
      // the built-in types remain
    }
  }

  #listenForAlerts(): void {
    const isLive = this.line.state.value.kind === 'live' && this.#me.value?.role !== 'user'
    const hasChanged = this.fleet.version.value >= 0 && this.#second.value >= 0
    if (isLive && hasChanged) this.#bell.process(openAlerts(this.fleet.alerts.values()), performance.now())
  }

  /** Requests the data that was missed while the connection was lost. */
  #catchUp(): void {
    this.#zones.value++
    void this.refresh()
    void this.#checkForUpdate()
  }

  async #checkForUpdate(): Promise<void> {
    try {
      const response = await fetch(location.pathname, { cache: 'no-cache' })
      if (response.ok && isOtherPage(await response.text(), this.#files)) this.#isUpdateReady.value = true
    } catch {
      // lost again: the next connection retries
    }
  }

  #checkRights(): void {
    const me = this.#me.value
    const mayEnd = me?.user.role === 'admin' || me?.session?.person != null
    if (mayEnd && this.line.state.value.kind === 'live') void this.refresh()
  }

  /** False while the page is in use, shows a question or waits for a result: it must not be replaced then. */
  #isIdle(): boolean {
    const isAsking = this.#code.value !== null || document.querySelector('dialog[open]') !== null
    if (isAsking || this.router.route.value.screen === 'more') return this.#touches.isUntouched && !isAsking
    return this.#me.value === null ? this.#touches.isUntouched : this.#touches.isIdle
  }

  /** Address of this page at a different origin, with the choices made here: browsers store those per origin. */
  #addressAt(origin: string): string {
    return `${origin}${location.pathname}${toQuery(this.preferences.choice.value)}${location.hash}`
  }

  /** Restores the choices made on this tablet before its page moved to TLS. */
  #takeChoice(): void {
    if (location.search === '') return
    this.preferences.adopt(location.search)
    history.replaceState(null, '', `${location.pathname}${location.hash}`)
  }

  /** Takes the code out of the address, so that it cannot be read there or in the history. */
  #takeCode(): void {
    const code = readCode(location.hash)
    if (code === null) return
    history.replaceState(null, '', `${location.pathname}${location.search}`)
    this.#code.value = code
  }
}

/** Returns a key of everything that decides which carts are visible. */
function sightOf({ session, role, scope }: MeJson): string {
  return JSON.stringify([session?.session_id, role, scope])
}

function openSocket({ received, closed }: LineEvents): LineSocket {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  const socket = new WebSocket(`${scheme}://${location.host}/realtime`)
  socket.addEventListener('message', ({ data }) => received(String(data)))
  socket.addEventListener('close', ({ code }) => closed(code))
  return {
    // the gateway may have begun to close it, as it does when its session ends; the connection opens another one
    send: (text) => socket.readyState === WebSocket.OPEN && socket.send(text),
    close: () => socket.close(),
  }
}
