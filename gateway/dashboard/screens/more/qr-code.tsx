import { useEffect, useState } from 'preact/hooks'

/** QR code for a camera; its encoder loads when the first code is shown. */
export function QrCode({ text }: { text: string }) {
  const [path, setPath] = useState<{ d: string; size: number } | null>(null)
  useEffect(() => {
    // without it the text next to it can still be typed
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
