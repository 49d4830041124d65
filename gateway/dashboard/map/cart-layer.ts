import { isLockedOut } from '#dashboard/live/fleet/marker-style.ts'
import { type Bitmap, CartBitmaps } from './cart-bitmaps.ts'
import { HEADINGS, type Marker, type Markers, type ParkingCluster } from './markers.ts'
import { place, ROOM_PX, type Screen } from './placing.ts'

/**
 * Resolution, divided by the square root of the number of carts, above which carts without a problem are drawn as dots:
 * on a course of a square kilometre their numbers would overlap.
 */
const DOTS_ABOVE_M_PER_PX = 40

export interface ClusterTexts {
  open: (count: number) => string
  low: (count: number) => string
}

export interface CartFrame {
  screen: Screen
  /** Clockwise rotation of the map, in radians. */
  rotation: number
  metresPerPx: number
  chosen: string | null
  words: ClusterTexts
}

/** Offset from the centre of a cart to that of its flag, to the right and up. */
const FLAG_PX = 14

/**
 * Canvas of the carts, above the map and equal in size. All signs are drawn on a sheet that is larger by `ROOM_PX` on
 * each side; while the map is only moved, a different section of the sheet is copied, which is one copy in place of one
 * for each sign.
 */
export class CartLayer {
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d')
  readonly #sheet = document.createElement('canvas')
  readonly #sheetContext = this.#sheet.getContext('2d')
  #bitmaps: CartBitmaps | null = null
  #ratio = 0
  /** Screen for which all signs have been drawn that move with the map; null if some do not. */
  #drawn: Screen | null = null

  constructor() {
    this.canvas.className = 'cart-canvas'
    // never added to the page; the class lets measurements find it
    this.#sheet.className = 'cart-sheet'
  }

  /** Drops the bitmaps, so that fonts that have just loaded are used. */
  forget(): void {
    this.#bitmaps = null
    this.#drawn = null
  }

  /** Moves the drawn signs to the present map position. Returns false if the sheet is too small and must be redrawn. */
  follow({ transform, widthPx, heightPx }: Screen): boolean {
    const drawn = this.#drawn
    if (drawn === null || devicePixelRatio !== this.#ratio) return false
    if (widthPx !== drawn.widthPx || heightPx !== drawn.heightPx) return false
    const isTurnedOrZoomed = [0, 1, 2, 3].some((at) => transform[at] !== drawn.transform[at])
    const [rightPx, downPx] = [transform[4] - drawn.transform[4], transform[5] - drawn.transform[5]]
    if (isTurnedOrZoomed || Math.max(Math.abs(rightPx), Math.abs(downPx)) > ROOM_PX) return false
    this.#show(rightPx, downPx)
    return true
  }

  draw(markers: Markers, frame: CartFrame): void {
    const context = this.#sheetContext
    if (context === null) return
    const { screen, chosen } = frame
    const bitmaps = this.#fit(screen)
    place(markers, screen, chosen)
    // a sign at the edge stays there while the map is moved; such signs come last
    this.#drawn = markers.all.at(-1)?.style === 'outside' ? null : screen
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, this.#sheet.width, this.#sheet.height)
    context.translate(this.#room(), this.#room())
    this.#drawAll(context, bitmaps, markers, frame)
    this.#show(0, 0)
  }

  #drawAll(context: CanvasRenderingContext2D, bitmaps: CartBitmaps, markers: Markers, frame: CartFrame): void {
    const { chosen } = frame
    const isFar = frame.metresPerPx * Math.sqrt(markers.all.length) > DOTS_ABOVE_M_PER_PX
    const turned = Math.round((frame.rotation / (2 * Math.PI)) * HEADINGS)
    let arePillsDrawn = false
    for (const marker of markers.all) {
      // clusters are drawn above the carts without a problem, and below those with one
      if (!arePillsDrawn && marker.style !== 'in' && marker.style !== 'out') {
        this.#drawPills(context, bitmaps, markers.pills, frame.words)
        arePillsDrawn = true
      }
      if (marker.isShown && marker.cart.cart !== chosen) this.#drawMarker(context, bitmaps, marker, turned, isFar)
    }
    if (!arePillsDrawn) this.#drawPills(context, bitmaps, markers.pills, frame.words)
    const one = chosen === null ? undefined : markers.find(chosen)
    if (one?.isShown !== true) return
    this.#blit(context, bitmaps.ring(), one.px, one.py)
    this.#drawMarker(context, bitmaps, one, turned, false)
  }

  #fit({ widthPx, heightPx }: Screen): CartBitmaps {
    const ratio = devicePixelRatio
    if (this.#bitmaps === null || ratio !== this.#ratio) {
      this.#ratio = ratio
      this.#bitmaps = new CartBitmaps(ratio)
    }
    const [width, height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)]
    resize(this.canvas, width, height)
    resize(this.#sheet, width + 2 * this.#room(), height + 2 * this.#room())
    return this.#bitmaps
  }

  /** Margin of the sheet in screen pixels, as are all values below. */
  #room(): number {
    return Math.round(ROOM_PX * this.#ratio)
  }

  /** Offsets by whole pixels, which is sharper and faster. */
  #show(rightPx: number, downPx: number): void {
    if (this.#context === null) return
    const [x = 0, y = 0] = [rightPx, downPx].map((px) => Math.round(px * this.#ratio) - this.#room())
    this.#context.globalCompositeOperation = 'copy'
    this.#context.drawImage(this.#sheet, x, y)
  }

  #drawMarker(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    marker: Marker,
    turned: number,
    isFar: boolean,
  ): void {
    const isDot = isFar && (marker.style === 'out' || marker.style === 'in')
    if (marker.heading >= 0 && !isDot) this.#blit(context, bitmaps.arrow(marker.heading + turned), marker.px, marker.py)
    this.#blit(context, bitmaps.body(marker.style, isDot ? '' : marker.label), marker.px, marker.py)
    if (marker.cart.exempt !== null) this.#blit(context, bitmaps.flag(), marker.px + FLAG_PX, marker.py - FLAG_PX)
    if (isLockedOut(marker.cart)) this.#blit(context, bitmaps.lock(), marker.px + FLAG_PX, marker.py + FLAG_PX)
  }

  #drawPills(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    pills: Iterable<ParkingCluster>,
    words: ClusterTexts,
  ): void {
    for (const pill of pills) {
      if (!pill.isShown) continue
      const bitmap = bitmaps.pill([
        { text: `P ${pill.count}`, tone: 'plain' },
        ...(pill.open === 0 ? [] : [{ text: words.open(pill.open), tone: 'warning' } as const]),
        ...(pill.low === 0 ? [] : [{ text: words.low(pill.low), tone: 'warning' } as const]),
      ])
      pill.halfWidthPx = bitmap.halfWidthPx
      this.#blit(context, bitmap, pill.px, pill.py)
    }
  }

  /** Copies onto whole screen pixels, which is sharper and faster. */
  #blit(
    context: CanvasRenderingContext2D,
    { canvas, halfWidthPx, halfHeightPx }: Bitmap,
    px: number,
    py: number,
  ): void {
    const ratio = this.#ratio
    context.drawImage(canvas, Math.round((px - halfWidthPx) * ratio), Math.round((py - halfHeightPx) * ratio))
  }
}

function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  if (canvas.width !== width) canvas.width = width
  if (canvas.height !== height) canvas.height = height
}
