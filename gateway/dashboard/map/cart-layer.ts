import { type Bitmap, CartBitmaps } from './cart-bitmaps.ts'
import { HEADINGS, type Marker, type Markers, type Pill } from './markers.ts'
import { place, type Screen } from './placing.ts'

/**
 * Further out than that, divided by the root of how many carts there are, signs of carts that need nobody are dots: on a
 * course of a square kilometre their numbers would be on top of each other.
 */
const DOTS_ABOVE_M_PER_PX = 40

export interface PillWords {
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
  words: PillWords
}

/** From the middle of a cart to that of its flag, to the right and up. */
const FLAG_PX = 14

/** The canvas of the carts, above the map and of its size. */
export class CartLayer {
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d')
  #bitmaps: CartBitmaps | null = null
  #ratio = 0

  constructor() {
    this.canvas.className = 'cart-canvas'
  }

  /** Letters that have just been loaded are drawn from now on. */
  forget(): void {
    this.#bitmaps = null
  }

  draw(markers: Markers, frame: CartFrame): void {
    const context = this.#context
    if (context === null) return
    const { screen, chosen } = frame
    const bitmaps = this.#fit(screen)
    place(markers, screen, chosen)
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, this.canvas.width, this.canvas.height)
    const isFar = frame.metresPerPx * Math.sqrt(markers.all.length) > DOTS_ABOVE_M_PER_PX
    const turned = Math.round((frame.rotation / (2 * Math.PI)) * HEADINGS)
    let arePillsDrawn = false
    for (const marker of markers.all) {
      // pills are above the carts that need nobody, and below those that do
      if (!arePillsDrawn && marker.look !== 'in' && marker.look !== 'out') {
        this.#drawPills(context, bitmaps, markers.pills, frame.words)
        arePillsDrawn = true
      }
      if (marker.isShown && marker.cart.cart !== chosen)
        this.#drawMarker(context, bitmaps, marker, turned, isFar)
    }
    if (!arePillsDrawn) this.#drawPills(context, bitmaps, markers.pills, frame.words)
    const one = chosen === null ? undefined : markers.find(chosen)
    if (one?.isShown !== true) return
    this.#blit(context, bitmaps.ring(), one.px, one.py)
    this.#drawMarker(context, bitmaps, one, turned, false)
  }

  #fit({ widthPx, heightPx }: Screen): CartBitmaps {
    const ratio = devicePixelRatio
    const [width, height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)]
    if (this.canvas.width !== width) this.canvas.width = width
    if (this.canvas.height !== height) this.canvas.height = height
    if (this.#bitmaps === null || ratio !== this.#ratio) {
      this.#ratio = ratio
      this.#bitmaps = new CartBitmaps(ratio)
    }
    return this.#bitmaps
  }

  #drawMarker(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    marker: Marker,
    turned: number,
    isFar: boolean,
  ): void {
    const isDot = isFar && (marker.look === 'out' || marker.look === 'in')
    if (marker.heading >= 0 && !isDot)
      this.#blit(context, bitmaps.arrow(marker.heading + turned), marker.px, marker.py)
    this.#blit(context, bitmaps.body(marker.look, isDot ? '' : marker.label), marker.px, marker.py)
    if (marker.cart.exempt !== null)
      this.#blit(context, bitmaps.flag(), marker.px + FLAG_PX, marker.py - FLAG_PX)
  }

  #drawPills(
    context: CanvasRenderingContext2D,
    bitmaps: CartBitmaps,
    pills: Iterable<Pill>,
    words: PillWords,
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
