/** Seeded random numbers: the same labels yield the same sequence on every computer. */
export interface Random {
  /** At least 0, below 1. */
  next(): number
  between(low: number, high: number): number
  /** Whole number; both bounds are inclusive. */
  integer(low: number, high: number): number
  chance(probability: number): boolean
  /** Mean 0, standard deviation 1, within 6. */
  gaussian(): number
  pick<T>(choices: readonly [T, ...T[]]): T
}

/**
 * Creates a generator that depends only on its labels, so that each part of a model can be computed separately:
 * `createRandom(seed, 'cart', 7, 'day', 20_000)`. The generator is sfc32.
 */
export function createRandom(...labels: readonly (string | number)[]): Random {
  const nextSeed = hashSeeds(labels.join('/'))
  let a = nextSeed()
  let b = nextSeed()
  let c = nextSeed()
  let counter = 1

  function next(): number {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 2 ** 32
  }

  for (let i = 0; i < 12; i++) next()

  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    integer: (low, high) => low + Math.floor((high - low + 1) * next()),
    chance: (probability) => next() < probability,
    gaussian() {
      // Irwin-Hall: avoids a logarithm, whose last digit may differ between computers
      let sum = -6
      for (let i = 0; i < 12; i++) sum += next()
      return sum
    },
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  }
}

/** xmur3: converts a text to a sequence of 32-bit seeds. */
function hashSeeds(text: string): () => number {
  let hash = 1779033703 ^ text.length
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 3432918353)
    hash = (hash << 13) | (hash >>> 19)
  }
  return () => {
    hash = Math.imul(hash ^ (hash >>> 16), 2246822507)
    hash = Math.imul(hash ^ (hash >>> 13), 3266489909)
    hash ^= hash >>> 16
    return hash | 0
  }
}
