import { useEffect, useState } from 'preact/hooks'

/** A QR code for a camera; the code that makes it comes when the first is shown. */
export function QrCode({ text }: { text: string }) {
  const [path, setPath] = useState<{ d: string; size: number } | null>(null)
  useEffect(() => {
    // without it what it says still stands beside it, to be typed
    import('./qr-path.ts').then(({ qrPath }) => setPath(qrPath(text))).catch(() => undefined)
  }, [text])
  if (path === null) return null
  const { d, size } = path
  return (
    <svg class="qr" viewBox={`-4 -4 ${size + 8} ${size + 8}`} role="img" aria-label="QR" shape-rendering="crispEdges">
      <path d={`M-4-4h${size + 8}v${size + 8}h-${size + 8}z`} fill="#ffffff" />
      <path d={d} fill="#000000" />
    </svg>
  )
}
