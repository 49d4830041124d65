import { isLockedOut } from '#dashboard/live/fleet/marker-style.ts'
import { type Bitmap, CartBitmaps } from './cart-bitmaps.ts'
import { HEADINGS, type Marker, type Markers, type ParkingCluster } from './markers.ts'
import { place, ROOM_PX, type Screen } from './placing.ts'

/**
 * Further out than that, divided by the root of how many carts there are, signs of carts that need nobody are dots: on
 * a course of a square kilometre their numbers would be on top of each other.
 */
const DOTS_ABOVE_M_PER_PX = 40

export interface ClusterTexts {
  open: (count: number) => string
  low: (count: number) => string
}

/** How the carts are to be drawn. */
export interface CartFrame {
  screen: Screen
  /** Clockwise, radians: how far the map is turned. */
  rotation: number
  metresPerPx: number
  chosen: string | null
  words: ClusterTexts
}

/** From the middle of a cart to that of its flag, to the right and up. */
const FLAG_PX = 14

/**
 * The canvas of the carts, above the map and of its size. All signs are drawn on a sheet that is larger by `ROOM_PX` on
 * each side; what a map that is only moved shows is another part of it, which is one copy and not one of each sign.
 */
export class CartLayer {
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d')
  readonly #sheet = document.createElement('canvas')
  readonly #sheetContext = this.#sheet.getContext('2d')
  #bitmaps: CartBitmaps | null = null
  #ratio = 0
  /** For what screen all signs have been drawn that move with the map; null where some do not. */
  #drawn: Screen | null = null

  constructor() {
    this.canvas.className = 'cart-canvas'
    // never on the page: for whoever measures when carts are drawn
    this.#sheet.className = 'cart-sheet'
  }

  /** Letters that have just been loaded are drawn from now on. */
  forget(): void {
    this.#bitmaps = null
    this.#drawn = null
  }

  /**
   * Shows what has been drawn where the map is now. Returns false where that is not enough, and it must be drawn anew.
   */
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
    // a sign at the edge stays there while the map is moved; such are the last of all
    this.#drawn = markers.all.at(-1)?.look === 'outside' ? null : screen
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
      // pills are above the carts that need nobody, and below those that do
      if (!arePillsDrawn && marker.look !== 'in' && marker.look !== 'out') {
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

  /** Pixels of the screen, as all below. */
  #room(): number {
    return Math.round(ROOM_PX * this.#ratio)
  }

  /** By whole pixels: it is sharper, and quicker. */
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
    const isDot = isFar && (marker.look === 'out' || marker.look === 'in')
    if (marker.heading >= 0 && !isDot) this.#blit(context, bitmaps.arrow(marker.heading + turned), marker.px, marker.py)
    this.#blit(context, bitmaps.body(marker.look, isDot ? '' : marker.label), marker.px, marker.py)
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

  /** Onto whole pixels of the screen: it is sharper, and quicker. */
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
