import qrcode from 'qrcode-generator'

/** Converts the dark modules of a QR code to an SVG path, one unit each. */
export function qrPath(text: string): { d: string; size: number } {
  const code = qrcode(0, 'M')
  code.addData(text)
  code.make()
  const size = code.getModuleCount()
  const modules = Array.from({ length: size * size }, (_, at) => ({ x: at % size, y: Math.floor(at / size) }))
  const dark = modules.filter(({ x, y }) => code.isDark(y, x))
  return { d: dark.map(({ x, y }) => `M${x} ${y}h1v1h-1z`).join(''), size }
}
