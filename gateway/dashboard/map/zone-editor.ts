import { computed, type ReadonlySignal, signal } from '@preact/signals-core'
import { keepText, readKept, type Shelf } from '#dashboard/live/page/kept-text.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import type { ZoneSet } from './site-zones.ts'
import { changesOf, differencesOf, merged, newId, renamed, renamings, type ZoneJson } from './zone-draft.ts'
import { cornersOn, type Place, removeCorner, ringOf } from './zone-shape.ts'

const UNDO_MAX = 100

const KEY = 'zones-draft'

interface Draft {
  base: ZoneSet
  zones: readonly ZoneJson[]
}

/** Initial properties of a new zone. */
type NewZone = Pick<ZoneJson['properties'], 'name' | 'type'>

/** Zones of the site while they are drawn: the gateway receives nothing before a save, and every step can be undone. */
export class ZoneEditor {
  readonly #store: Shelf
  readonly #draft = signal<Draft | null>(null)
  readonly #past = signal<readonly (readonly ZoneJson[])[]>([])
  readonly #theirs = signal<ZoneSet | null>(null)
  readonly #chosen = signal<string | null>(null)
  readonly #shown = computed<ZonesJson | null>(() => {
    const draft = this.#draft.value
    return draft && { ...draft.base.zones, features: [...draft.zones] }
  })
  /** Corners of the polygon being drawn; null if none. */
  readonly drawing = signal<readonly Place[] | null>(null)
  /** Corner of the chosen zone that was tapped last; -1 for none. */
  readonly corner = signal(-1)

  /** In `store` a draft survives a reload; if it is forbidden or full, the draft lasts as long as the page. */
  constructor(store: Shelf) {
    this.#store = store
    this.#draft.value = readDraft(store)
  }

  /** Zones as drawn now; null before they were read. */
  get current(): ReadonlySignal<ZonesJson | null> {
    return this.#shown
  }

  get zones(): readonly ZoneJson[] {
    return this.#draft.value?.zones ?? []
  }

  get base(): readonly ZoneJson[] {
    return this.#draft.value?.base.zones.features ?? []
  }

  get etag(): string {
    return this.#draft.value?.base.etag ?? ''
  }

  get chosen(): ZoneJson | null {
    return this.zones.find(({ id }) => id === this.#chosen.value) ?? null
  }

  get isChanged(): boolean {
    return changesOf(this.base, this.zones).size > 0
  }

  get canUndo(): boolean {
    return this.#past.value.length > 0
  }

  /** Set that another user saved meanwhile; null if none. */
  get theirs(): ZoneSet | null {
    return this.#theirs.value
  }

  /** Applies the zones of the gateway: they are shown unless there are unsaved changes. */
  read(set: ZoneSet): void {
    if (!this.isChanged || this.#draft.value === null) this.#begin(set)
    else if (set.etag === this.etag) this.#theirs.value = null
    else if (changesOf(this.base, set.zones.features).size === 0)
      // only overrides differ: the local changes apply to the same zones
      this.#set({ base: set, zones: switchedAs(this.zones, set.zones.features) })
    else this.#compare(set)
  }

  /** Continues with the saved zones as the gateway returned them. */
  saved(set: ZoneSet): void {
    this.#begin(set)
    this.#past.value = []
  }

  choose(id: string | null): void {
    this.#chosen.value = id
    this.corner.value = -1
  }

  change(zone: ZoneJson): void {
    this.replace(this.zones.map((known) => (known.id === zone.id ? zone : known)))
  }

  replace(zones: readonly ZoneJson[]): void {
    const draft = this.#draft.value
    if (draft === null) return
    this.#past.value = [...this.#past.value, draft.zones].slice(-UNDO_MAX)
    this.#set({ ...draft, zones })
  }

  undo(): void {
    const [before] = this.#past.value.slice(-1)
    const draft = this.#draft.value
    if (before === undefined || draft === null) return
    this.#past.value = this.#past.value.slice(0, -1)
    this.corner.value = -1
    this.#set({ ...draft, zones: before })
  }

  /** Returns to the zones of the gateway. */
  discard(): void {
    const draft = this.#draft.value
    if (draft !== null) this.saved(this.#theirs.value ?? draft.base)
  }

  /** Applies the local changes on top of the set that another user saved. */
  keepMine(): void {
    const theirs = this.#theirs.value
    if (theirs !== null) this.#drawOn(theirs)
  }

  /** Adds a zone of this shape and chooses it. */
  add(geometry: ZoneJson['geometry'], newZone: NewZone, radius_m?: number): void {
    const id = newId(newZone.type)
    const round = radius_m === undefined ? {} : { radius_m }
    const properties = { ...newZone, enabled: true, visible: false, switched: null, ...round }
    this.replace([...this.zones, { type: 'Feature', id, geometry, properties }])
    this.choose(id)
  }

  /** Converts the drawn ring into a zone. */
  close(newZone: NewZone): void {
    const corners = this.drawing.value
    this.drawing.value = null
    if (corners !== null && corners.length > 2) this.add(ringOf(corners), newZone)
  }

  setCorners(corners: readonly Place[]): void {
    const zone = this.chosen
    if (zone !== null) this.change({ ...zone, geometry: ringOf(corners) })
  }

  /** Removes the corner that was tapped last; at least three remain. */
  cut(): void {
    const corners = this.chosen === null ? [] : cornersOn(this.chosen)
    const at = this.corner.value
    this.corner.value = -1
    if (at >= 0 && corners.length > 3) this.setCorners(removeCorner(corners, at))
  }

  remove(): void {
    const id = this.#chosen.value
    this.choose(null)
    this.replace(this.zones.filter((zone) => zone.id !== id))
  }

  /** Rebases the local changes on the set that others saved, unless both changed one zone: then the user chooses. */
  #compare(set: ZoneSet): void {
    const ids = renamings(this.base, this.zones, set.zones.features)
    const draft = this.#draft.value
    if (draft !== null && ids.size > 0) {
      this.#past.value = this.#past.value.map((zones) => renamed(zones, ids))
      const chosen = this.#chosen.value
      if (chosen !== null) this.#chosen.value = ids.get(chosen) ?? chosen
      this.#set({ ...draft, zones: renamed(draft.zones, ids) })
    }
    const differences = differencesOf(this.base, this.zones, set.zones.features)
    if (differences.some(({ mine, theirs }) => mine !== null && theirs !== null)) this.#theirs.value = set
    else this.#drawOn(set)
  }

  #drawOn(set: ZoneSet): void {
    const { base } = this
    const over = (zones: readonly ZoneJson[]) => merged(base, zones, set.zones.features)
    this.#theirs.value = null
    this.#past.value = this.#past.value.map(over)
    this.#set({ base: set, zones: over(this.zones) })
  }

  #begin(set: ZoneSet): void {
    this.#theirs.value = null
    this.#set({ base: set, zones: set.zones.features })
  }

  #set(draft: Draft): void {
    this.#draft.value = draft
    keepText(this.#store, KEY, this.isChanged ? JSON.stringify(draft) : null)
  }
}

/** Applies the overrides of others to the zones. */
function switchedAs(zones: readonly ZoneJson[], others: readonly ZoneJson[]): ZoneJson[] {
  const known = new Map(others.map((zone) => [zone.id, zone]))
  return zones.map((zone) => {
    const other = known.get(zone.id)
    const isSame = other !== undefined && changesOf([zone], [other]).size === 0
    return isSame ? other : zone
  })
}

function readDraft(store: Shelf): Draft | null {
  try {
    // only this class writes it, so it is not validated
    return JSON.parse(readKept(store, KEY) ?? 'null') as Draft | null
  } catch {
    return null
  }
}
