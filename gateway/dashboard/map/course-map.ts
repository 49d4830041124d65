import { effect, type ReadonlySignal, signal } from '@preact/signals-core'
import DoubleClickZoom from 'ol/interaction/DoubleClickZoom.js'
import DragPan from 'ol/interaction/DragPan.js'
import type Interaction from 'ol/interaction/Interaction.js'
import KeyboardPan from 'ol/interaction/KeyboardPan.js'
import KeyboardZoom from 'ol/interaction/KeyboardZoom.js'
import MouseWheelZoom from 'ol/interaction/MouseWheelZoom.js'
import PinchZoom from 'ol/interaction/PinchZoom.js'
import type BaseLayer from 'ol/layer/Base.js'
import type { FrameState } from 'ol/Map.js'
import type { Pixel } from 'ol/pixel.js'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { CartFilter } from '#dashboard/live/fleet/cart-filter.ts'
import type { SavedView } from '#dashboard/live/kept-view.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { CartLayer, type ClusterTexts, type PlaceName } from './cart-layer.ts'
import { CLOSEST_ZOOM, CourseView, WholePixelMap, ZOOM_MS } from './course-view.ts'
import { extentAround, firstExtent, type MapExtent } from './first-view.ts'
import { Markers, type Paces } from './markers.ts'
import { metresPerUnit } from './mercator.ts'
import { type Box, type Insets, isInView, markersAt, pillAt, place, type Screen, TAP_PX } from './placing.ts'
import { namesOfZones, ZoneLayer } from './zone-layer.ts'

/**
 * Resolution, divided by the square root of the number of carts, above which carts without a problem are drawn as dots:
 * on a course of a square kilometre their numbers would overlap.
 */
const DOTS_ABOVE_M_PER_PX = 40

/** Carts, live or replayed; `version` increases when any of them changes. */
export type MapFleet = Pick<Dashboard['fleet'], 'version' | 'carts'>

export interface CourseMapDeps {
  fleet: MapFleet
  zones: ReadonlySignal<ZonesJson | null>
  words: () => ClusterTexts
  /** True to draw every parked cart separately at any zoom. */
  isUnpacked?: boolean
  insets: Insets
  /** Position of the course in the settings. */
  location?: () => { lat: number; long: number } | null
  /** View that the user left. */
  kept?: SavedView | null
  /** Called on a tap, with the cart or null, the place on the map's plane, and all carts that may have been meant. */
  onTap: (cart: string | null, place: [x: number, y: number], near: readonly string[]) => void
}

/** Content drawn below the zones. */
export interface BaseMap {
  extent: MapExtent
  names: readonly PlaceName[]
}

/** Values that the page shows next to the map. */
export interface MapLabels {
  /** True metres per pixel, to three digits. */
  metresPerPx: number
  /** Clockwise, in radians. */
  rotation: number
}

/**
 * Entry point of this folder: zones and carts on a map that is moved with fingers, mouse or keys. OpenLayers draws the
 * base map (`course-base-map` adds the course once it is loaded) and the zones (`zone-layer`), and moves the view. A
 * canvas above them shows the carts: `markers` keeps one object for each cart, `placing` computes its screen position,
 * and `cart-layer` copies its sign there, which `cart-bitmaps` drew once. Carts are drawn after fleet updates, four
 * times a second, and with frames of OpenLayers; while the map is only moved, the drawn sheet moves with it. Otherwise
 * nothing is drawn.
 */
export class CourseMap {
  readonly #deps: CourseMapDeps
  readonly #view: CourseView
  readonly #zoneLayer = new ZoneLayer()
  readonly #carts = new CartLayer()
  readonly #markers = new Markers()
  readonly #baseMap = signal<BaseMap | null>(null)
  readonly #labels = signal<MapLabels>({ metresPerPx: 1, rotation: 0 })
  readonly #darkness = matchMedia('(prefers-color-scheme: dark)')
  readonly #stops: (() => void)[] = []
  #map: WholePixelMap | undefined
  #frame: FrameState | null = null
  #asked = 0
  #filter: CartFilter | null = null
  #paces: Paces = null
  #chosen: string | null = null
  /** True while a chosen cart still has to be brought into view. */
  #isRevealing = false
  /** True once the position of the course is known and was shown. */
  readonly #isFitted = signal(false)
  /** True while only the settings locate the course. */
  #isOnlyLocated = false
  #buttons: Box | null = null
  #names: readonly PlaceName[] = []

  constructor(deps: CourseMapDeps) {
    this.#deps = deps
    this.#view = new CourseView(deps.insets)
    if (deps.kept == null) return
    this.#view.restore(deps.kept)
    this.#isFitted.value = true
  }

  get labels(): ReadonlySignal<MapLabels> {
    return this.#labels
  }

  /** False while the position of the course is unknown: the map is then centred in the Atlantic. */
  get isPlaced(): boolean {
    return this.#isFitted.value
  }

  /** Centre of the visible part, on the map's plane. */
  get center(): [x: number, y: number] {
    return this.#view.center
  }

  /** View that the user has moved to; null for the whole course. */
  get kept(): SavedView | null {
    return this.#isFitted.peek() ? this.#view.kept : null
  }

  start(target: HTMLElement): void {
    const layers = [this.#zoneLayer.layer]
    const view = this.#view.view
    const map = new WholePixelMap({ target, view, layers, controls: [], interactions: interactions() })
    this.#map = map
    map.getViewport()?.append(this.#carts.canvas)
    map.on('postrender', ({ frameState }) => this.#rendered(frameState))
    let taps: Pixel[] = []
    map.on('click', ({ pixel, coordinate }) => {
      taps = [pixel, ...taps.slice(0, 1)]
      this.#tapped(pixel, coordinate)
    })
    // OpenLayers takes any two taps within 250 ms for a double tap: a user who sets corners quickly must not zoom
    map.on('dblclick', (event) => {
      if (!areNear(taps)) event.stopPropagation()
    })
    const moved = () => this.#moved()
    map.on('pointerdrag', moved)
    target.addEventListener('wheel', moved, { passive: true })
    map.on('change:size', () => this.#fit())
    const paint = () => {
      const [zones, baseMap] = [this.#deps.zones.value, this.#baseMap.value]
      this.#zoneLayer.show(zones, this.#darkness.matches, baseMap !== null)
      const names = baseMap?.names ?? []
      this.#names = names.some(({ kind }) => kind === 'hole') ? names : [...names, ...namesOfZones(zones)]
      this.#ask()
    }
    this.#darkness.addEventListener('change', paint)
    this.#stops.push(
      () => target.removeEventListener('wheel', moved),
      () => this.#darkness.removeEventListener('change', paint),
      effect(() => {
        paint()
        this.#fit()
      }),
      effect(() => {
        if (this.#deps.fleet.version.value >= 0) this.#takeCarts()
      }),
    )
    void document.fonts.load('700 16px "Atkinson Hyperlegible Next"').then(() => {
      this.#carts.forget()
      this.#ask()
    })
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
    cancelAnimationFrame(this.#asked)
    this.#frame = null
    this.#map?.setTarget()
    this.#map?.dispose()
    this.#map = undefined
  }

  /** Adds a layer to the map, such as the shape being drawn. */
  add(layer: BaseLayer, interaction?: Interaction): void {
    this.#map?.addLayer(layer)
    if (interaction !== undefined) this.#map?.addInteraction(interaction)
  }

  /** Adds the layers below the zones. */
  addBaseLayers(layers: readonly BaseLayer[]): void {
    for (const layer of layers) this.#map?.addLayer(layer)
  }

  set baseMap(baseMap: BaseMap | null) {
    this.#baseMap.value = baseMap
  }

  set insets(insets: Insets) {
    this.#view.insets = insets
    this.#fit()
    this.#ask()
  }

  /** Position of the map's buttons. */
  set buttons(buttons: Box | null) {
    this.#buttons = buttons
    this.#ask()
  }

  set filter(filter: CartFilter | null) {
    this.#filter = filter
    this.#takeCarts()
  }

  set paces(paces: Paces) {
    this.#paces = paces
    this.#takeCarts()
  }

  set chosen(cart: string | null) {
    if (cart === this.#chosen) return
    this.#chosen = cart
    this.#isRevealing = cart !== null
    this.#takeCarts()
    this.#ask()
  }

  zoomBy(steps: number): void {
    this.#view.zoomBy(steps)
  }

  /** Returns to the whole course. */
  home(): void {
    this.#view.forget()
    this.#fit()
  }

  /** Shows this part of the plane as large as it fits. */
  show(extent: MapExtent): void {
    this.#view.show(extent)
    this.#isFitted.value = true
  }

  #moved(): void {
    this.#view.moved()
    this.#isRevealing = false
  }

  #fit(): void {
    const baseExtent = this.#baseMap.peek()?.extent ?? null
    const location = this.#deps.location?.() ?? null
    const known = firstExtent(this.#deps.zones.peek(), this.#deps.fleet.carts.values(), baseExtent)
    const extent = known ?? (location === null ? null : extentAround(location))
    if (extent === null) return
    this.#isOnlyLocated = known === null
    // an empty map that was moved was nowhere
    if (!this.#isFitted.peek()) this.#view.forget()
    if (this.#view.fit(extent, this.#map?.getSize() ?? [])) this.#isFitted.value = true
  }

  #takeCarts(): void {
    const isOther = this.#markers.take(this.#deps.fleet.carts, this.#filter, this.#chosen, this.#paces)
    if (!this.#isFitted.peek() || this.#isOnlyLocated) this.#fit()
    // its screen position is known once the map has been drawn
    if (this.#isRevealing) this.#map?.render()
    if (isOther) this.#ask()
  }

  /** Moves the chosen cart into the uncovered part of the map, unless it is there. */
  #reveal(): void {
    const marker = this.#chosen === null ? undefined : this.#markers.find(this.#chosen)
    const screen = this.#screen()
    if (marker === undefined || screen === null) return
    this.#isRevealing = false
    place(this.#markers, screen, null)
    const [a, b, c, d, e, f] = screen.transform
    // a cart outside the course was placed at the edge
    const px = a * marker.x + c * marker.y + e
    const py = b * marker.x + d * marker.y + f
    const isHidden = !marker.isShown && marker.top === null
    if (isHidden || !isInView({ px, py }, screen)) this.#view.bring(marker.x, marker.y)
  }

  #tapped([px = 0, py = 0]: number[], [x = 0, y = 0]: number[]): void {
    const screen = this.#screen()
    // the map may have been moved since the carts were drawn
    if (screen !== null) place(this.#markers, screen, this.#chosen)
    const pill = pillAt(this.#markers, px, py)
    if (pill !== null) this.show([pill.west, pill.south, pill.east, pill.north])
    else {
      const near = markersAt(this.#markers, px, py).map(({ cart }) => cart.cart)
      this.#deps.onTap(near[0] ?? null, [x, y], near)
    }
  }

  #ask(): void {
    if (this.#asked !== 0 || this.#frame === null) return
    this.#asked = requestAnimationFrame(() => {
      this.#asked = 0
      this.#draw()
    })
  }

  #rendered(frame: FrameState | null): void {
    this.#frame = frame
    if (frame === null) return
    const { resolution, rotation, center } = frame.viewState
    const metresPerPx = Number((resolution * metresPerUnit(center[1] ?? 0)).toPrecision(3))
    const labels = this.#labels.peek()
    if (labels.metresPerPx !== metresPerPx || labels.rotation !== rotation)
      this.#labels.value = { metresPerPx, rotation }
    if (this.#isRevealing) this.#reveal()
    const screen = this.#screen()
    if (screen !== null && !this.#carts.follow(screen)) this.#draw()
  }

  #draw(): void {
    const screen = this.#screen()
    if (screen === null) return
    this.#carts.draw(this.#markers, {
      screen,
      rotation: this.#labels.peek().rotation,
      chosen: this.#chosen,
      words: this.#deps.words(),
      names: this.#names,
      isDark: this.#darkness.matches,
    })
  }

  #screen(): Screen | null {
    if (this.#frame === null) return null
    const { size, coordinateToPixelTransform, viewState } = this.#frame
    const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = coordinateToPixelTransform
    return {
      transform: [a, b, c, d, e, f],
      widthPx: size[0] ?? 0,
      heightPx: size[1] ?? 0,
      insets: this.#view.insets,
      buttons: this.#buttons,
      scale: 1 / viewState.resolution,
      isFar: this.#labels.peek().metresPerPx * Math.sqrt(this.#markers.all.length) > DOTS_ABOVE_M_PER_PX,
      isClosest: this.#deps.isUnpacked === true || viewState.zoom >= CLOSEST_ZOOM - 0.01,
    }
  }
}

/** True if both taps may have meant the same place. */
function areNear([[x = 0, y = 0] = [], [beforeX = 0, beforeY = 0] = []]: readonly Pixel[]): boolean {
  return Math.hypot(x - beforeX, y - beforeY) <= TAP_PX
}

/** OpenLayers' interactions except rotation: the shape of the course decides if the map is upright or rotated. */
function interactions(): Interaction[] {
  return [
    new DragPan(),
    new DoubleClickZoom({ duration: ZOOM_MS }),
    new PinchZoom(),
    new MouseWheelZoom(),
    new KeyboardPan(),
    new KeyboardZoom({ duration: ZOOM_MS }),
  ]
}
