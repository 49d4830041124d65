import { HEADINGS, type SignStyle } from './markers.ts'

/** Drawn sign, and half of its size on the screen. */
export interface Bitmap {
  canvas: HTMLCanvasElement
  halfWidthPx: number
  halfHeightPx: number
}

/** Section of a parking cluster's sign. */
export interface PillPart {
  text: string
  tone: 'plain' | 'warning'
}

interface LabelLook {
  isBoxed: boolean
  isDark: boolean
}

const INK = '#10160c'
const EDGE = '#ffffff'
const FILLS: Record<SignStyle, string> = {
  out: '#0b4fb3',
  in: '#3f4a3b',
  unlocked: '#ffb000',
  low: '#ffb000',
  outside: '#b3002d',
  silent: '#ffffff',
  between: '#5b6455',
  'on time': '#1c6b2a',
  behind: '#ffb000',
  late: '#b3002d',
}
const INKS: Record<SignStyle, string> = {
  out: '#ffffff',
  in: '#ffffff',
  unlocked: INK,
  low: INK,
  outside: '#ffffff',
  silent: INK,
  between: '#ffffff',
  'on time': '#ffffff',
  behind: INK,
  late: '#ffffff',
}
const ROUND: ReadonlySet<SignStyle> = new Set(['out', 'silent', 'between', 'on time'])
const FONT = '"Atkinson Hyperlegible Next", system-ui, sans-serif'
const RADIUS_PX = 17
const SMALL_PX = 8
/** Half of a sign including its edge and hairline. */
const ROOM_PX = 26
const FLAG_ROOM_PX = 11
const LOCK_ROOM_PX = 11
const BADGE_ROOM_PX = 11
const LABEL_ROOM_PX = 13
/** Limit of cached bitmaps, above the number of signs of a fleet in all states; all are then dropped together. */
const KEPT_MAX = 3_000

/** Cached signs of carts, drawn once for each style, number or heading at the pixel ratio of the screen. */
export class CartBitmaps {
  readonly #ratio: number
  readonly #kept = new Map<string, Bitmap>()
  readonly #bodies = new Map<SignStyle, Map<string, Bitmap>>()
  readonly #arrows: Bitmap[] = []
  #bodyCount = 0

  constructor(ratio: number) {
    this.#ratio = ratio
  }

  /** Returns the sign of a cart; without a number it is a small dot. */
  body(style: SignStyle, label: string): Bitmap {
    let ofStyle = this.#bodies.get(style)
    if (ofStyle === undefined) {
      ofStyle = new Map()
      this.#bodies.set(style, ofStyle)
    }
    let bitmap = ofStyle.get(label)
    if (bitmap === undefined) {
      if (++this.#bodyCount > KEPT_MAX) this.#forget()
      bitmap = this.#draw(ROOM_PX, ROOM_PX, (context) => drawBody(context, style, label))
      ofStyle.set(label, bitmap)
    }
    return bitmap
  }

  /** Returns the heading arrow below a body, clockwise from the top of the screen. */
  arrow(heading: number): Bitmap {
    const step = ((heading % HEADINGS) + HEADINGS) % HEADINGS
    let bitmap = this.#arrows[step]
    if (bitmap === undefined) {
      bitmap = this.#draw(ROOM_PX, ROOM_PX, (context) => drawArrow(context, (step / HEADINGS) * 2 * Math.PI))
      this.#arrows[step] = bitmap
    }
    return bitmap
  }

  /** Returns the ring around the chosen cart. */
  ring(): Bitmap {
    return this.#keep('ring', () => this.#draw(ROOM_PX + 4, ROOM_PX + 4, drawRing))
  }

  /** Returns the flag of a cart with access to forbidden zones. */
  flag(): Bitmap {
    return this.#keep('flag', () => this.#draw(FLAG_ROOM_PX, FLAG_ROOM_PX, drawFlag))
  }

  /** Returns the padlock of a cart that is locked on the course. */
  lock(): Bitmap {
    return this.#keep('lock', () => this.#draw(LOCK_ROOM_PX, LOCK_ROOM_PX, drawLock))
  }

  /** Returns the square badge of a kind of vehicle. */
  badge(letter: string): Bitmap {
    return this.#keep(`badge ${letter}`, () =>
      this.#draw(BADGE_ROOM_PX, BADGE_ROOM_PX, (context) => drawBadge(context, letter)),
    )
  }

  /** Returns the number of carts below a sign. */
  below(count: number): Bitmap {
    return this.label(`+${count}`, { isBoxed: true, isDark: true })
  }

  /** Returns the text of a place: in a box, or with an edge. */
  label(text: string, look: LabelLook): Bitmap {
    return this.#keep(`${text} ${look.isBoxed} ${look.isDark}`, () => {
      const [width = 0] = this.#widthsOf([{ text, tone: 'plain' }])
      return this.#draw(width / 2 + 1, LABEL_ROOM_PX, (context) => drawLabel(context, text, width - 10, look))
    })
  }

  pill(parts: readonly PillPart[]): Bitmap {
    const key = parts.map(({ text, tone }) => `${tone} ${text}`).join('|')
    return this.#keep(key, () => {
      const widths = this.#widthsOf(parts)
      const widthPx = widths.reduce((sum, width) => sum + width, 0)
      return this.#draw(widthPx / 2 + 4, 20, (context) => drawPill(context, parts, widths, widthPx))
    })
  }

  #keep(key: string, make: () => Bitmap): Bitmap {
    let bitmap = this.#kept.get(key)
    if (bitmap === undefined) {
      // counts of a cluster change all day
      if (this.#kept.size > 100) this.#kept.clear()
      bitmap = make()
      this.#kept.set(key, bitmap)
    }
    return bitmap
  }

  #forget(): void {
    this.#bodies.clear()
    this.#bodyCount = 0
  }

  #widthsOf(parts: readonly PillPart[]): number[] {
    const context = document.createElement('canvas').getContext('2d')
    if (context === null) return parts.map(({ text }) => text.length * 9 + 20)
    context.font = `700 16px ${FONT}`
    return parts.map(({ text }) => Math.ceil(context.measureText(text).width) + 20)
  }

  #draw(halfWidthPx: number, halfHeightPx: number, draw: (context: CanvasRenderingContext2D) => void): Bitmap {
    const canvas = document.createElement('canvas')
    canvas.width = Math.ceil(2 * halfWidthPx * this.#ratio)
    canvas.height = Math.ceil(2 * halfHeightPx * this.#ratio)
    const context = canvas.getContext('2d')
    if (context !== null) {
      context.scale(this.#ratio, this.#ratio)
      context.translate(halfWidthPx, halfHeightPx)
      draw(context)
    }
    return {
      canvas,
      halfWidthPx: canvas.width / this.#ratio / 2,
      halfHeightPx: canvas.height / this.#ratio / 2,
    }
  }
}

function drawBody(context: CanvasRenderingContext2D, style: SignStyle, label: string): void {
  const path = outlineOf(style, label === '' ? SMALL_PX : RADIUS_PX)
  context.lineJoin = 'round'
  // a dark hairline around a white edge is visible on pale colours, on a photo and at night
  strokeWith(context, path, INK, 6)
  strokeWith(context, path, EDGE, 4)
  context.fillStyle = FILLS[style]
  context.fill(path)
  if (style === 'silent') context.setLineDash([5, 3.5])
  strokeWith(context, path, INK, style === 'silent' ? 2.5 : style === 'out' || style === 'in' ? 0.01 : 1.5)
  context.setLineDash([])
  if (label === '') return
  const letters = [...label].length
  context.font = `750 ${letters > 2 ? 14 : 16}px ${FONT}`
  context.textAlign = 'center'
  context.textBaseline = 'alphabetic'
  context.fillStyle = INKS[style]
  context.fillText(label, 0, style === 'low' || style === 'late' ? 10 : 5.5, 2 * RADIUS_PX - 3)
}

function drawLabel(context: CanvasRenderingContext2D, text: string, widthPx: number, look: LabelLook): void {
  const [ink, paper] = look.isDark ? ['#f2f5ee', '#1b2316'] : [INK, EDGE]
  context.font = `700 ${look.isBoxed ? 15 : 14}px ${FONT}`
  context.textAlign = 'center'
  if (look.isBoxed) {
    const box = new Path2D()
    box.roundRect(-widthPx / 2, -11, widthPx, 22, 4)
    context.fillStyle = paper
    context.fill(box)
    strokeWith(context, box, look.isDark ? '#8b9683' : '#5b6455', 1)
  } else {
    context.lineJoin = 'round'
    context.strokeStyle = paper
    context.lineWidth = 4
    context.strokeText(text, 0, 5)
  }
  context.fillStyle = ink
  context.fillText(text, 0, 5)
}

/** Draws a blue pennant with a white edge. */
function drawFlag(context: CanvasRenderingContext2D): void {
  const path = new Path2D('M-4 8V-8L7 -3.5L-4 1Z')
  context.lineJoin = 'round'
  strokeWith(context, path, INK, 5)
  strokeWith(context, path, EDGE, 3.5)
  context.fillStyle = FILLS.out
  context.fill(path)
  strokeWith(context, path, FILLS.out, 1.5)
}

/** Draws a dark padlock with a white edge. */
function drawLock(context: CanvasRenderingContext2D): void {
  const shackle = new Path2D('M-4 -1V-4A4 4 0 0 1 4 -4V-1')
  const body = new Path2D()
  body.roundRect(-6.5, -1.5, 13, 10, 2)
  context.lineJoin = 'round'
  for (const path of [shackle, body]) strokeWith(context, path, EDGE, 6)
  strokeWith(context, shackle, INK, 2.5)
  context.fillStyle = INK
  context.fill(body)
}

/** Draws a dark letter on a white square. */
function drawBadge(context: CanvasRenderingContext2D, letter: string): void {
  const path = new Path2D('M-8 -8H8V8H-8Z')
  strokeWith(context, path, INK, 4)
  context.fillStyle = EDGE
  context.fill(path)
  context.font = `750 14px ${FONT}`
  context.textAlign = 'center'
  context.fillStyle = INK
  context.fillText(letter, 0, 5)
}

function strokeWith(context: CanvasRenderingContext2D, path: Path2D, color: string, widthPx: number): void {
  context.strokeStyle = color
  context.lineWidth = widthPx
  context.stroke(path)
}

function outlineOf(style: SignStyle, radiusPx: number): Path2D {
  const path = new Path2D()
  if (ROUND.has(style)) path.arc(0, 0, radiusPx, 0, 2 * Math.PI)
  else if (style === 'low' || style === 'late') polygon(path, radiusPx * 1.18, [0, -1, 1, 0.78, -1, 0.78])
  else if (style === 'outside' || style === 'behind') polygon(path, radiusPx * 1.28, [0, -1, 1, 0, 0, 1, -1, 0])
  else path.roundRect(-radiusPx * 0.92, -radiusPx * 0.92, radiusPx * 1.84, radiusPx * 1.84, radiusPx / 3)
  return path
}

function polygon(path: Path2D, radiusPx: number, corners: readonly number[]): void {
  for (let at = 0; at < corners.length; at += 2)
    path.lineTo((corners[at] ?? 0) * radiusPx, (corners[at + 1] ?? 0) * radiusPx)
  path.closePath()
}

function drawArrow(context: CanvasRenderingContext2D, angle: number): void {
  context.rotate(angle)
  const path = new Path2D()
  path.moveTo(0, -ROOM_PX + 1)
  path.lineTo(9, -13)
  path.lineTo(-9, -13)
  path.closePath()
  context.lineJoin = 'round'
  strokeWith(context, path, INK, 3.5)
  strokeWith(context, path, EDGE, 2)
  context.fillStyle = FILLS.out
  context.fill(path)
}

function drawRing(context: CanvasRenderingContext2D): void {
  const path = new Path2D()
  path.arc(0, 0, ROOM_PX, 0, 2 * Math.PI)
  strokeWith(context, path, EDGE, 7)
  strokeWith(context, path, INK, 4)
}

function drawPill(
  context: CanvasRenderingContext2D,
  parts: readonly PillPart[],
  widths: readonly number[],
  widthPx: number,
): void {
  const outline = new Path2D()
  outline.roundRect(-widthPx / 2, -16, widthPx, 32, 9)
  strokeWith(context, outline, INK, 6)
  strokeWith(context, outline, EDGE, 4)
  context.save()
  context.clip(outline)
  context.font = `700 16px ${FONT}`
  context.textAlign = 'center'
  let left = -widthPx / 2
  for (const [index, { text, tone }] of parts.entries()) {
    const width = widths[index] ?? 0
    context.fillStyle = tone === 'plain' ? FILLS.in : FILLS.low
    context.fillRect(left, -16, width + 1, 32)
    context.fillStyle = tone === 'plain' ? '#ffffff' : INK
    context.fillText(text, left + width / 2, 5.5)
    left += width
  }
  context.restore()
}
