// SPDX-License-Identifier: Apache-2.0

// tlog FOLDER: the checkpoint, proofs and tiles that make-exports left there, read with Go's own library of transparency logs, and leaves made
// again from envelopes by what their formats say. Everything must fit, and no tampered twin.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var folder = os.Args[1]

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(ok bool, format string, arguments ...interface{}) {
	if !ok {
		log.Fatalf(format, arguments...)
	}
}

func read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(folder, name))
	must(err)
	return data
}

// The tree that a signed note tells of.
func open(data []byte, vkey string) (tlog.Tree, error) {
	var tree tlog.Tree

	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return tree, err
	}
	signed, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(signed.Text, "\n")
	check(len(lines) == 4 && lines[3] == "" && lines[0] == verifier.Name(), "no checkpoint: %q", signed.Text)
	tree.N, err = strconv.ParseInt(lines[1], 10, 64)
	must(err)
	tree.Hash, err = tlog.ParseHash(lines[2])
	must(err)
	return tree, nil
}

// Tiles in a folder, where the path does not tell the height.
type tiles struct{ changed string }

func (t tiles) Height() int { return 8 }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte

	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(folder, "tiles", path))
		if err != nil {
			return nil, err
		}
		if path == t.changed {
			data[len(data)/2] ^= 1
		}
		all = append(all, data)
	}
	return all, nil
}

// What the log holds of a record: the hashedrekord body in the order of RFC 8785.
func body(envelope []byte, spki []byte, details string) []byte {
	var dsse struct {
		Payload, PayloadType string
		Signatures           []struct{ Sig string }
	}

	must(json.Unmarshal(envelope, &dsse))
	payload, err := base64.StdEncoding.DecodeString(dsse.Payload)
	must(err)
	digest := sha256.Sum256([]byte(fmt.Sprintf("DSSEv1 %d %s %d %s", len(dsse.PayloadType), dsse.PayloadType, len(payload), payload)))
	return []byte(fmt.Sprintf(`{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256","digest":"%s"},`+
		`"signature":{"content":"%s","verifier":{"keyDetails":"%s","publicKey":{"rawBytes":"%s"}}}}}}`,
		base64.StdEncoding.EncodeToString(digest[:]), dsse.Signatures[0].Sig, details, base64.StdEncoding.EncodeToString(spki)))
}

// A tlog-proof: the index, the path, and the note that ends it.
func parse(text string) (int64, tlog.RecordProof, []byte) {
	var proof tlog.RecordProof

	head, signed, found := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	check(found && lines[0] == "c2sp.org/tlog-proof@v1" && strings.HasPrefix(lines[1], "index "), "no proof: %q", head)
	index, err := strconv.ParseInt(lines[1][len("index "):], 10, 64)
	must(err)
	for _, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		must(err)
		proof = append(proof, hash)
	}
	return index, proof, []byte(signed)
}

func checkProof(index int, leaf tlog.Hash, vkey string) int {
	at, proof, signed := parse(string(read(fmt.Sprintf("%d.tlog-proof", index))))
	tree, err := open(signed, vkey)
	must(err)
	check(at == int64(index), "the proof of %d is of %d", index, at)
	must(tlog.CheckRecord(proof, tree.N, tree.Hash, at, leaf))

	refused := 0
	for i := range proof {
		proof[i][i%32] ^= 1
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, at, leaf) != nil, "record %d: hash %d may be changed", index, i)
		proof[i][i%32] ^= 1
		refused++
	}
	check(tlog.CheckRecord(proof, tree.N, tree.Hash, at^1, leaf) != nil, "record %d: another index will do", index)
	leaf[0] ^= 1
	check(tlog.CheckRecord(proof, tree.N, tree.Hash, at, leaf) != nil, "record %d: another record will do", index)
	return refused + 2
}

// Every entry, behind its length in two bytes.
func entries(size int64) [][]byte {
	var all [][]byte

	for n := int64(0); n*256 < size; n++ {
		tile := tlog.Tile{H: 8, L: 0, N: n, W: 256}
		if size-n*256 < 256 {
			tile.W = int(size - n*256)
		}
		data := read("tiles/" + strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1))
		for len(data) > 0 {
			length := int(binary.BigEndian.Uint16(data))
			all = append(all, data[2:2+length])
			data = data[2+length:]
		}
	}
	return all
}

func checkTiles(tree tlog.Tree, earlier tlog.Tree, bodies [][]byte) int {
	reader := tlog.TileHashReader(tree, tiles{})
	held := entries(tree.N)
	check(int64(len(held)) == tree.N, "%d entries of %d", len(held), tree.N)
	for i, entry := range held {
		hashes, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		must(err)
		check(hashes[0] == tlog.RecordHash(entry) && bytes.Equal(entry, bodies[i]), "entry %d is not in the tree, or not of its envelope", i)
		proof, err := tlog.ProveRecord(tree.N, int64(i), reader)
		must(err)
		must(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(i), hashes[0]))
	}

	proof, err := tlog.ProveTree(tree.N, earlier.N, reader)
	must(err)
	must(tlog.CheckTree(proof, tree.N, tree.Hash, earlier.N, earlier.Hash))
	earlier.Hash[7] ^= 1
	check(tlog.CheckTree(proof, tree.N, tree.Hash, earlier.N, earlier.Hash) != nil, "another earlier log will do")

	for _, path := range []string{"tile/0/000", fmt.Sprintf("tile/0/001.p/%d", tree.N%256), "tile/1/000.p/1"} {
		bad, changed := tlog.TileHashReader(tree, tiles{changed: path}), 0
		for i := int64(0); i < tree.N; i++ {
			if _, err := bad.ReadHashes([]int64{tlog.StoredHashIndex(0, i)}); err != nil {
				changed++
			}
		}
		check(changed > 0, "%s may be changed", path)
	}
	return 4
}

func main() {
	block, _ := pem.Decode(read("record.key.pub"))
	_, err := x509.ParsePKIXPublicKey(block.Bytes)
	must(err)
	details := map[string]string{"ed25519": "PKIX_ED25519", "ecdsa-p256": "PKIX_ECDSA_P256_SHA_256"}[os.Args[2]]
	vkey := strings.TrimSpace(string(read("log.vkey")))
	tree, err := open(read("checkpoint"), vkey)
	must(err)
	earlier, err := open(read("earlier-checkpoint"), vkey)
	must(err)
	check(bytes.Equal(read("checkpoint"), read("tiles/checkpoint")), "the tiles are of another checkpoint")

	twin := bytes.Replace(read("checkpoint"), []byte(fmt.Sprintf("\n%d\n", tree.N)), []byte(fmt.Sprintf("\n%d\n", tree.N-1)), 1)
	_, err = open(twin, vkey)
	check(err != nil, "a size that was not signed will do")
	_, other, err := note.GenerateKey(rand.Reader, "fleet.example/stations/st-017")
	must(err)
	_, err = open(read("checkpoint"), other)
	check(err != nil, "another key will do")

	lines := bytes.Split(bytes.TrimSpace(read("records.intoto.jsonl")), []byte("\n"))
	check(bytes.Equal(read("records.intoto.jsonl"), read("tiles/records.intoto.jsonl")), "the tiles are of other records")
	check(int64(len(lines)) == tree.N, "%d records of %d", len(lines), tree.N)
	var bodies [][]byte
	refused := 2
	for i, line := range lines {
		bodies = append(bodies, body(line, block.Bytes, details))
		refused += checkProof(i, tlog.RecordHash(bodies[i]), vkey)
	}
	refused += checkTiles(tree, earlier, bodies)
	fmt.Printf("a checkpoint, %d proofs and tiles of %d records verified, %d twins refused\n", len(lines), tree.N, refused)
}
